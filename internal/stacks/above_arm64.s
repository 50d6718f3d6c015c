#include "textflag.h"

// A frame pointer farther than this above the stack pointer is none.
#define FARTHEST 8192

// func above() uintptr
//
// As on amd64, with R29, which points to the word below the frame.
TEXT ·above(SB), NOSPLIT|NOFRAME, $0-8
	MOVD RSP, R2
	SUB  R2, R29, R0
	ADD  $8, R0
	CMP  $FARTHEST, R0
	BHI  none
	MOVD (R29), R1
	SUB  R2, R1, R0
	CMP  $FARTHEST, R0
	BHI  none
	MOVD 8(R1), R0
	MOVD R0, ret+0(FP)
	RET

none:
	MOVD ZR, ret+0(FP)
	RET
