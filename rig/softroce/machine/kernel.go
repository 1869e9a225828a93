package machine

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// wanted names the kernel modules that the guest loads, in this order, each behind those it needs.
var wanted = strings.Fields("virtio_pci virtio_console virtio_net 9pnet_virtio 9p overlay " +
	"crc32_generic rdma_rxe rdma_ucm veth dummy sch_netem")

// Kit is what machines are made of.
type Kit struct {
	Version  string   // of the kernel, as in "6.1.0-54-amd64"
	image    string   // the kernel's file
	modules  []string // files, in the order in which they have to be loaded
	shell    string   // the guest's first program
	emulator string   // the program that is a machine
}

// ErrUnavailable says that this host cannot have a machine: something is missing, or cannot be fetched.
var ErrUnavailable = errors.New("no virtual machine can be had here")

// Fetch returns a kit. The kernel is the one that was put in the cache last; if there is none it fetches Debian's, and tells
// progress so. Several processes may do this at once. What is in the cache is complete: it is put there by one rename.
func Fetch(ctx context.Context, cache string, progress io.Writer) (Kit, error) {
	shell, err := findShell()
	if err != nil {
		return Kit{}, err
	}
	emulator, err := findTool("qemu-system-x86_64", "qemu-system-x86")
	if err != nil {
		return Kit{}, err
	}
	kit, err := fetchKernel(ctx, cache, progress)
	kit.shell, kit.emulator = shell, emulator
	return kit, err
}

// fetchKernel returns a kit that has a kernel only.
func fetchKernel(ctx context.Context, cache string, progress io.Writer) (Kit, error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Kit{}, fmt.Errorf("make the cache: %w", err)
	}
	unlock, err := lock(filepath.Join(cache, "lock"))
	if err != nil {
		return Kit{}, fmt.Errorf("lock the cache: %w", err)
	}
	defer unlock()
	kit, ok := newest(cache)
	if ok {
		return kit, nil
	}
	if err := fetch(ctx, cache, progress); err != nil {
		return Kit{}, fmt.Errorf("%w: fetch a kernel: %w", ErrUnavailable, err)
	}
	kit, _ = newest(cache)
	return kit, prune(cache)
}

// kernelsKept is how many kernels the cache holds: ours, and that of a tree that wants other modules.
const kernelsKept = 2

// prune removes the oldest kernels, and what fetches that were killed have left behind. The caller has the lock.
func prune(cache string) error {
	broken, _ := filepath.Glob(filepath.Join(cache, "fetch-*")) // the patterns are well-formed
	kernels, _ := filepath.Glob(filepath.Join(cache, "*+????????"))
	slices.SortFunc(kernels, func(a, b string) int { return made(b).Compare(made(a)) })
	old := kernels[min(len(kernels), kernelsKept):]
	for _, folder := range append(broken, old...) {
		if err := os.RemoveAll(folder); err != nil {
			return fmt.Errorf("remove an old kernel: %w", err)
		}
	}
	return nil
}

// suffix tells folders of the cache apart that were made for other modules, or by other rules.
func suffix() string {
	const rules = "2"
	return fmt.Sprintf("+%08x", crc32.ChecksumIEEE([]byte(rules+strings.Join(wanted, " "))))
}

// newest returns the kernel that the cache got last.
func newest(cache string) (Kit, bool) {
	folders, _ := filepath.Glob(filepath.Join(cache, "*"+suffix())) // the pattern is well-formed
	if len(folders) == 0 {
		return Kit{}, false
	}
	folder := slices.MaxFunc(folders, func(a, b string) int { return made(a).Compare(made(b)) })
	modules, _ := filepath.Glob(filepath.Join(folder, "*.ko")) // numbered in their order
	version := strings.TrimSuffix(filepath.Base(folder), suffix())
	return Kit{Version: version, image: filepath.Join(folder, "kernel"), modules: modules}, true
}

// made is when a folder was made; one that cannot be looked at is the oldest.
func made(folder string) time.Time {
	info, err := os.Stat(folder)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// fetch downloads the package in a folder that is removed, and leaves in the cache what a guest needs.
func fetch(ctx context.Context, cache string, progress io.Writer) error {
	work, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	name, err := packageName(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "softroce: fetching %s, once\n", name)
	if err := download(ctx, work, name); err != nil {
		return err
	}
	version := strings.TrimPrefix(name, "linux-image-")
	done := filepath.Join(work, "done")
	if err := pick(ctx, work, version, done); err != nil {
		return err
	}
	return os.Rename(done, filepath.Join(cache, version+suffix()))
}

// packageName asks apt which package the newest kernel is in.
func packageName(ctx context.Context) (string, error) {
	out, err := tool(ctx, "", "apt-cache", "depends", "linux-image-amd64")
	if err != nil {
		return "", err
	}
	for _, word := range strings.Fields(out) {
		if strings.HasPrefix(word, "linux-image-") && word != "linux-image-amd64" {
			return word, nil
		}
	}
	return "", errors.New("apt knows no linux-image-amd64; run apt-get update, on Debian")
}

// download fetches a package and unpacks it. The lists of packages may be older than the archive's newest kernel, so if it
// fails they are renewed once, which needs root.
func download(ctx context.Context, work, name string) error {
	_, err := tool(ctx, work, "apt-get", "download", name)
	if err != nil {
		if _, failed := tool(ctx, work, "apt-get", "update"); failed != nil {
			return errors.Join(err, failed)
		}
		_, err = tool(ctx, work, "apt-get", "download", name)
	}
	if err != nil {
		return err
	}
	_, err = tool(ctx, work, "sh", "-c", "dpkg-deb -x *.deb tree")
	return err
}

// pick copies the kernel and the modules that are wanted, and those that they need, to a new folder.
func pick(ctx context.Context, work, version, to string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	tree := filepath.Join(work, "tree")
	image := filepath.Join(to, "kernel")
	if err := os.Rename(filepath.Join(tree, "boot", "vmlinuz-"+version), image); err != nil {
		return err
	}
	if err := unpack(ctx, image); err != nil {
		return err
	}
	if _, err := tool(ctx, "", "depmod", "-b", tree, version); err != nil {
		return err
	}
	args := []string{"-C", "/dev/null", "-d", tree, "-S", version, "--show-depends", "-a"}
	out, err := tool(ctx, "", "modprobe", append(args, wanted...)...)
	if err != nil {
		return err
	}
	for i, file := range moduleFiles(out) {
		name := fmt.Sprintf("%02d-%s", i, filepath.Base(file))
		if err := os.Rename(file, filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// moduleFiles reads what modprobe says it would do: lines "insmod FILE", some of them several times.
func moduleFiles(text string) []string {
	var files []string
	for line := range strings.Lines(text) {
		verb, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		if verb == "insmod" && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// tool runs a program of the host in a folder, and returns what it printed.
func tool(ctx context.Context, folder, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w %s", name, err, strings.TrimSpace(errs.String()))
	}
	return string(out), nil
}

// lock waits for the lock file, and returns a function that gives it back.
func lock(name string) (func(), error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // which unlocks it
}
