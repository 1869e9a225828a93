#include "textflag.h"

// func Memory(start unsafe.Pointer, size uintptr)
TEXT ·Memory(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ start+0(FP), AX
	MOVQ size+8(FP), CX
	ADDQ AX, CX
	ANDQ $~63, AX
next:
	CMPQ AX, CX
	JCC  done
	PREFETCHT0 (AX)
	ADDQ $64, AX
	JMP  next
done:
	RET
