package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/internal/units"
)

func examineKernel() finding {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return good("kernel", "unknown: %v", err).but(warning, "")
	}
	return good("kernel", "Linux %s, %s", unix.ByteSliceToString(u.Release[:]), runtime.Version())
}

func examineCores() finding {
	n := runtime.GOMAXPROCS(0)
	f := good("cores", "%d of %d may be used", n, runtime.NumCPU())
	if n == 1 {
		return f.but(warning, "two sides that poll need two cores: give it more (taskset, GOMAXPROCS), or wait by sleeping")
	}
	return f
}

// examineQuota looks for a limit on processor time, as containers have it.
func examineQuota() finding {
	group, _ := os.ReadFile("/proc/self/cgroup")
	limit, found := cpuQuota(string(group), "/sys/fs/cgroup")
	switch {
	case !found:
		return good("CPU quota", "none")
	case limit < float64(runtime.NumCPU()):
		return good("CPU quota", "%s cores of %d: who polls is paused when it is used up", units.Digits(limit), runtime.NumCPU()).
			but(warning, "raise the container's CPU limit (docker run --cpus, resources.limits.cpu), or wait by sleeping")
	}
	return good("CPU quota", "%s cores", units.Digits(limit))
}

// cpuQuota reads the limit of the innermost control group that has one, in cores. Groups is the text of
// /proc/self/cgroup.
func cpuQuota(groups, root string) (cores float64, found bool) {
	for line := range strings.Lines(groups) {
		path, unified := strings.CutPrefix(strings.TrimSpace(line), "0::")
		for ; unified; path = filepath.Dir(path) {
			text, _ := os.ReadFile(filepath.Join(root, path, "cpu.max"))
			if cores, found = parseQuota(string(text)); found {
				return cores, true
			}
			unified = path != "/" && path != "."
		}
	}
	quota, _ := os.ReadFile(filepath.Join(root, "cpu/cpu.cfs_quota_us"))
	period, _ := os.ReadFile(filepath.Join(root, "cpu/cpu.cfs_period_us"))
	return parseQuota(strings.TrimSpace(string(quota)) + " " + strings.TrimSpace(string(period)))
}

// parseQuota reads "quota period", both in microseconds. "max" or a negative quota is none.
func parseQuota(text string) (cores float64, found bool) {
	words := strings.Fields(text)
	if len(words) != 2 {
		return 0, false
	}
	quota, failed := strconv.ParseFloat(words[0], 64)
	period, err := strconv.ParseFloat(words[1], 64)
	if failed != nil || err != nil || !(quota > 0) || !(period > 0) {
		return 0, false
	}
	return quota / period, true
}

// examineFiles looks at how many descriptors a process may have. Go raises the soft limit to the hard one by itself.
func examineFiles() finding {
	const comfortable = 4096
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return good("open files", "unknown: %v", err).but(warning, "")
	}
	usable := max(0, int(min(limit.Max, 1<<40))-filesBeside)
	f := good("open files", "soft %d, hard %d (taken as far as it goes): about %s", limit.Cur, limit.Max,
		counted(usable, "TCP queue pair"))
	if limit.Max < comfortable {
		return f.but(warning, "as root ulimit -n 65536 before it starts, or LimitNOFILE=65536 in its systemd unit")
	}
	return f
}

func examineMemlock(hardware bool) finding {
	const comfortable = 1 << 30
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return good("locked memory", "unknown: %v", err).but(warning, "")
	}
	status, _ := os.ReadFile("/proc/self/status")
	switch {
	case limit.Cur == unix.RLIM_INFINITY:
		return good("locked memory", "unlimited")
	case mayLock(string(status)):
		return good("locked memory", "unlimited, by the capability IPC_LOCK")
	case !hardware:
		return good("locked memory", "at most %v; only RDMA devices need it", units.Size(limit.Cur))
	}
	f := good("locked memory", "at most %v for RDMA; memory that peers may use counts twice", units.Size(limit.Cur))
	if limit.Cur < comfortable {
		return f.but(warning, "ulimit -l unlimited as root before it starts, LimitMEMLOCK=infinity in its systemd unit, "+
			"or the capability IPC_LOCK (docker run --cap-add IPC_LOCK)")
	}
	return f
}

// mayLock reads, in the text of /proc/self/status, whether the process has the capability to lock what it likes.
func mayLock(status string) bool {
	for line := range strings.Lines(status) {
		if digits, found := strings.CutPrefix(line, "CapEff:"); found {
			capabilities, err := strconv.ParseUint(strings.TrimSpace(digits), 16, 64)
			return err == nil && capabilities>>unix.CAP_IPC_LOCK&1 == 1
		}
	}
	return false
}

// examineMemfd tries what shared memory is made of.
func examineMemfd() finding {
	const name = "memfd and seals"
	fix := "shared memory needs Linux 3.17 or newer, and memfd_create allowed by the container's seccomp profile"
	fd, err := unix.MemfdCreate("weft-doctor", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return good(name, "memfd_create: %v", err).but(problem, fix)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Ftruncate(fd, 4096); err != nil {
		return good(name, "ftruncate: %v", err).but(problem, fix)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		return good(name, "F_ADD_SEALS: %v", err).but(problem, fix)
	}
	return good(name, "there")
}

// examineUserfault tries what evicting a stopped writer from shared memory takes.
func examineUserfault() finding {
	const name, userModeOnly = "userfaultfd", 1
	fd, _, failed := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|userModeOnly, 0, 0)
	if failed == 0 {
		_ = unix.Close(int(fd))
		return good(name, "there: a writer that was stopped can be evicted from shared memory")
	}
	f := good(name, "%v: revoking waits for a writer that was stopped", failed)
	switch {
	case errors.Is(failed, unix.ENOSYS):
		return f.but(warning, "a kernel with CONFIG_USERFAULTFD")
	case errors.Is(failed, unix.EINVAL):
		return f.but(warning, "Linux 5.11 or newer, or as root: sysctl -w vm.unprivileged_userfaultfd=1")
	}
	return f.but(warning, "allow userfaultfd in the container's seccomp profile (docker run --security-opt seccomp=PROFILE)")
}

// examineAbstract tries the sockets on which processes of one host meet.
func examineAbstract() finding {
	const name = "abstract socket"
	if err := meetAt("unix", fmt.Sprintf("@weft-doctor-%d", os.Getpid())); err != nil {
		return good(name, "%v", err).but(problem, "shared memory needs abstract Unix sockets: run both processes in one network namespace")
	}
	return good(name, "there")
}

func examineLoopback(name, network, address string) finding {
	err := meetAt(network, address)
	switch {
	case err == nil:
		return good(name, "reachable")
	case network == "tcp6":
		return good(name, "%v", err).but(warning, "only for IPv6 addresses: sysctl -w net.ipv6.conf.lo.disable_ipv6=0")
	}
	return good(name, "%v", err).but(problem, "ip link set lo up")
}

// meetAt listens and connects.
func meetAt(network, address string) error {
	listener, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	conn, err := net.Dial(network, listener.Addr().String())
	if err != nil {
		return err
	}
	return conn.Close()
}

func examineHugePages() finding {
	const name = "huge pages"
	text, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
	if err != nil {
		return good(name, "none for shared memory")
	}
	_, rest, _ := strings.Cut(string(text), "[")
	setting, _, _ := strings.Cut(rest, "]")
	return good(name, "for shared memory: %s", setting)
}
