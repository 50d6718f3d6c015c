#include "textflag.h"

// func load(offset uintptr) uint64
TEXT ·load(SB), NOSPLIT, $0-16
	MOVQ (TLS), AX
	MOVQ offset+0(FP), CX
	MOVQ (AX)(CX*1), AX
	MOVQ AX, ret+8(FP)
	RET

// func record() uintptr
TEXT ·record(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET

// func word(at uintptr) uintptr
//
// The processor keeps the order of loads.
TEXT ·word(SB), NOSPLIT, $0-16
	MOVQ at+0(FP), AX
	MOVQ (AX), AX
	MOVQ AX, ret+8(FP)
	RET
