package machine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// put makes a program of the host that is a shell script.
func put(t *testing.T, folder, name, script string) {
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// debian is a host whose tools know one kernel package. It has no other tools than these, and the shell's.
func debian(t *testing.T) (tools string) {
	tools = t.TempDir()
	put(t, tools, "apt-cache", `printf 'linux-image-amd64\n  Depends: linux-image-6.1.0-9-amd64\n'`)
	put(t, tools, "apt-get", `[ $1 = download ] && echo package >$2.deb`)
	put(t, tools, "dpkg-deb", `mkdir -p tree/boot tree/lib; echo kernel >tree/boot/vmlinuz-6.1.0-9-amd64; echo code >tree/lib/rxe.ko`)
	put(t, tools, "depmod", ``)
	put(t, tools, "modprobe", `echo "insmod $4/lib/rxe.ko"; echo "insmod $4/lib/rxe.ko"`)
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	return tools
}

func TestFetchOnce(t *testing.T) {
	tools, cache := debian(t), t.TempDir()
	for range 2 {
		kit, err := fetchKernel(t.Context(), cache, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(kit.image); string(text) != "kernel\n" {
			t.Errorf("the kernel is %q, %v", text, err)
		}
		if len(kit.modules) != 1 || kit.Version != "6.1.0-9-amd64" {
			t.Errorf("%+v", kit)
		}
		put(t, tools, "apt-get", `exit 1`) // the second time it is not asked
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "fetch-*")); len(left) > 0 {
		t.Errorf("it left %v behind", left)
	}
}

// TestOldKernelsAreRemoved has a cache of four kernels, of other modules, and a fetch that was killed. A fetch keeps the
// newest two, and what is no kernel.
func TestOldKernelsAreRemoved(t *testing.T) {
	debian(t)
	cache := t.TempDir()
	for i, name := range []string{"6.1.0-1-amd64+00000001", "6.1.0-2-amd64+00000001", "6.1.0-9-amd64+00000002", "6.1.0-8-amd64+00000003", "fetch-1", "notes"} {
		folder := filepath.Join(cache, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1000*i), 0)
		if err := os.Chtimes(folder, at, at); err != nil {
			t.Fatal(err)
		}
	}
	kit, err := fetchKernel(t.Context(), cache, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kit.image); err != nil {
		t.Error(err)
	}
	left, _ := filepath.Glob(filepath.Join(cache, "*"))
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	want := []string{"6.1.0-8-amd64+00000003", "6.1.0-9-amd64" + suffix(), "lock", "notes"}
	if slices.Sort(left); !slices.Equal(left, want) {
		t.Errorf("left are %q, not %q", left, want)
	}
}

// TestBrokenFetch breaks each tool in turn. Nothing that is half done may stay, and the next try works.
func TestBrokenFetch(t *testing.T) {
	for _, tool := range strings.Fields("apt-cache apt-get dpkg-deb depmod modprobe") {
		t.Run(tool, func(t *testing.T) {
			tools, cache := debian(t), t.TempDir()
			put(t, tools, tool, `echo no luck >&2; exit 1`)
			if _, err := fetchKernel(t.Context(), cache, io.Discard); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "no luck") {
				t.Errorf("a broken %s: %v", tool, err)
			}
			debian(t)
			if _, err := fetchKernel(t.Context(), cache, io.Discard); err != nil {
				t.Errorf("after it was mended: %v", err)
			}
		})
	}
}

// TestOldLists has apt find the package only after its lists were renewed.
func TestOldLists(t *testing.T) {
	tools, cache := debian(t), t.TempDir()
	put(t, tools, "apt-get", `if [ $1 = update ]; then touch `+tools+`/new; elif [ -e `+tools+`/new ]; then echo x >$2.deb; else exit 100; fi`)
	if _, err := fetchKernel(t.Context(), cache, io.Discard); err != nil {
		t.Error(err)
	}
}

// TestFetchTogether has several fetch at once; one does.
func TestFetchTogether(t *testing.T) {
	tools, cache := debian(t), t.TempDir()
	put(t, tools, "apt-get", `echo asked >>`+tools+`/asked; echo package >$2.deb`)
	errs := make(chan error)
	for range 4 {
		go func() {
			_, err := fetchKernel(t.Context(), cache, io.Discard)
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if asked, _ := os.ReadFile(filepath.Join(tools, "asked")); strings.Count(string(asked), "asked") != 1 {
		t.Errorf("apt was asked: %q", asked)
	}
}

// image makes a kernel image whose program is packed.
func image(packed []byte) []byte {
	data := make([]byte, 1024+512) // of which 512 are the first of two sectors
	copy(data[0x202:], "HdrS")
	data[0x1f1] = 1
	binary.LittleEndian.PutUint32(data[0x248:], 512)
	return slices.Concat(data, packed)
}

func TestUnpack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kernel")
	unpacked := func(data []byte) []byte {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := unpack(t.Context(), file); err != nil {
			t.Error(err)
		}
		data, _ = os.ReadFile(file)
		return data
	}
	for _, odd := range [][]byte{{}, []byte("short"), image(nil), image([]byte("\xfd7zXZ\x00broken"))} {
		if got := unpacked(odd); !bytes.Equal(got, odd) {
			t.Errorf("%d bytes that it cannot understand became %d", len(odd), len(got))
		}
	}
	cmd := exec.Command("xz", "--check=crc32")
	cmd.Stdin = strings.NewReader("\x7fELF program")
	packed, err := cmd.Output()
	if err != nil {
		t.Skipf("there is no xz: %v", err)
	}
	if got := unpacked(image(append(packed, "size"...))); string(got) != "\x7fELF program" {
		t.Errorf("it became %q", got)
	}
}

func FuzzPayload(f *testing.F) {
	f.Add(image([]byte("x")))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := payload(data); !bytes.HasSuffix(data, got) {
			t.Error("it is not the end of the image")
		}
	})
}

func TestMissingToolsAreNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Fetch(t.Context(), t.TempDir(), io.Discard); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "install busybox-static") {
		t.Error(err)
	}
	if _, err := findTool("qemu-system-x86_64", "qemu-system-x86"); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
}

func TestModuleFiles(t *testing.T) {
	text := "insmod /a/x.ko \nbuiltin crc32\ninsmod /a b/y.ko\ninsmod /a/x.ko\n"
	if got, want := moduleFiles(text), []string{"/a/x.ko", "/a b/y.ko"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestArchive has cpio read the archive, where there is one.
func TestArchive(t *testing.T) {
	cpio, err := exec.LookPath("cpio")
	if err != nil {
		t.Skip("there is no cpio to read it")
	}
	var data bytes.Buffer
	kit := Kit{shell: "/dev/null"}
	if err := writeInitrd(&data, kit, "mark", "command"); err != nil {
		t.Fatal(err)
	}
	if data.Len()%4 != 0 {
		t.Errorf("%d bytes are no multiple of 4", data.Len())
	}
	cmd := exec.Command(cpio, "-i", "--quiet", "--to-stdout", "command.sh", "mark")
	cmd.Stdin = &data
	if out, err := cmd.Output(); string(out) != "commandmark\n" {
		t.Errorf("cpio read %q, %v", out, err)
	}
	if err := writeInitrd(io.Discard, Kit{shell: "/nowhere"}, "", ""); err == nil {
		t.Error("it does not mind that there is no shell")
	}
}
