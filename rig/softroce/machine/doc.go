// Package machine boots virtual machines that have a real RDMA device, and runs a command in them.
//
// The device is rxe0, the kernel's Soft-RoCE. Where this program runs there need not be one, nor a kernel that has it:
// Debian's kernel is booted under qemu, in software emulation. The guest sees the files of its host at the same paths. It
// may write everywhere, but what it writes is gone with it; only the command's output and its exit status come out.
//
//	kit, err := machine.Fetch(ctx, cacheFolder, os.Stderr)
//	status, err := machine.Run(ctx, kit, machine.Config{Command: []string{"ibv_devinfo"}, Stdout: os.Stdout})
//
// One machine has rxe0 on a link that leads nowhere; processes in it reach each other by the device's loopback. Two
// machines have a wire between them, which carries RoCE and TCP alike.
package machine
