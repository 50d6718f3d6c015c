#include "textflag.h"

// func word(at uintptr) uint64
TEXT ·word(SB), NOSPLIT, $0-16
	MOVQ at+0(FP), AX
	MOVQ (AX), AX
	MOVQ AX, ret+8(FP)
	RET

// func setWord(at uintptr, v uint64)
TEXT ·setWord(SB), NOSPLIT, $0-16
	MOVQ at+0(FP), AX
	MOVQ v+8(FP), CX
	MOVQ CX, (AX)
	RET
