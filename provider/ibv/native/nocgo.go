//go:build !cgo

package native

import (
	"syscall"
	"unsafe"
)

// This file is what a binary without cgo has. Load fails, so that nobody comes to the rest, which fails, too.

const none = int(syscall.ENOSYS)

func load() error { return ErrNoCgo }

// Nothing does nothing.
func Nothing() {}

func cAlloc(int, int) unsafe.Pointer                                     { return nil }
func cFree(unsafe.Pointer)                                               {}
func cOpen(string) (unsafe.Pointer, int)                                 { return nil, none }
func cClose(unsafe.Pointer) int                                          { return none }
func cAsyncFD(unsafe.Pointer) int                                        { return -1 }
func cNextEvent(unsafe.Pointer) (Event, int)                             { return Event{}, none }
func cQueryDevice(unsafe.Pointer) (DeviceAttr, int)                      { return DeviceAttr{}, none }
func cQueryPort(unsafe.Pointer, uint8) (PortAttr, int)                   { return PortAttr{}, none }
func cAllocDomain(unsafe.Pointer) (unsafe.Pointer, int)                  { return nil, none }
func cFreeDomain(unsafe.Pointer) int                                     { return none }
func cRegister(unsafe.Pointer, unsafe.Pointer, int, Access, *Memory) int { return none }
func cDeregister(unsafe.Pointer) int                                     { return none }
func cAllocWindow(unsafe.Pointer) (unsafe.Pointer, int)                  { return nil, none }
func cFreeWindow(unsafe.Pointer) int                                     { return none }
func cWindowKey(unsafe.Pointer) *uint32                                  { return nil }
func cCreateQueue(unsafe.Pointer, int) (queue, channel unsafe.Pointer, errno int) {
	return nil, nil, none
}
func cDestroyQueue(unsafe.Pointer, unsafe.Pointer) int             { return none }
func cChannelFD(unsafe.Pointer) int                                { return -1 }
func cArm(unsafe.Pointer) int                                      { return none }
func cTakeNotices(unsafe.Pointer) int                              { return none }
func cPoll(unsafe.Pointer, int, unsafe.Pointer) int                { return -none }
func cCreatePair(unsafe.Pointer, PairConfig) (*Pair, int)          { return nil, none }
func cDestroyPair(unsafe.Pointer) int                              { return none }
func cPairState(unsafe.Pointer) (PairState, int)                   { return ErrorState, none }
func cSetState(unsafe.Pointer, PairState) int                      { return none }
func cSetAccess(unsafe.Pointer, PairState, uint8, Access) int      { return none }
func cToReady(unsafe.Pointer, *Path) int                           { return none }
func cCreateShared(unsafe.Pointer, int, int) (unsafe.Pointer, int) { return nil, none }
func cDestroyShared(unsafe.Pointer) int                            { return none }
func cPostSend(unsafe.Pointer, unsafe.Pointer, int) int64          { return int64(none) }
func cPostReceive(unsafe.Pointer, unsafe.Pointer, int) int64       { return int64(none) }
func cPostShared(unsafe.Pointer, unsafe.Pointer, int) int64        { return int64(none) }
