#include "textflag.h"

// func word(at uintptr) uint64
TEXT ·word(SB), NOSPLIT, $0-16
	MOVD at+0(FP), R0
	MOVD (R0), R0
	MOVD R0, ret+8(FP)
	RET

// func setWord(at uintptr, v uint64)
TEXT ·setWord(SB), NOSPLIT, $0-16
	MOVD at+0(FP), R0
	MOVD v+8(FP), R1
	MOVD R1, (R0)
	RET
