#include "textflag.h"

// func Memory(start unsafe.Pointer, size uintptr)
TEXT ·Memory(SB), NOSPLIT|NOFRAME, $0-16
	MOVD start+0(FP), R0
	MOVD size+8(FP), R1
	ADD  R0, R1, R1
	AND  $~63, R0, R0
next:
	CMP  R1, R0
	BHS  done
	PRFM (R0), PLDL1KEEP
	ADD  $64, R0, R0
	B    next
done:
	RET
