#include "textflag.h"

// func load(offset uintptr) uint64
TEXT ·load(SB), NOSPLIT, $0-16
	MOVD offset+0(FP), R0
	ADD  g, R0, R0
	MOVD (R0), R0
	MOVD R0, ret+8(FP)
	RET

// func record() uintptr
TEXT ·record(SB), NOSPLIT, $0-8
	MOVD g, R0
	MOVD R0, ret+0(FP)
	RET

// func word(at uintptr) uintptr
TEXT ·word(SB), NOSPLIT, $0-16
	MOVD at+0(FP), R0
	LDAR (R0), R0
	MOVD R0, ret+8(FP)
	RET
