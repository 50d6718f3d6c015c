#include "textflag.h"

// A frame pointer farther than this above the stack pointer is none.
#define FARTHEST 8192

// func above() uintptr
//
// BP is that of Above. What it points to is BP as the caller of Above has it, and above
// that stands the address to which that one returns.
TEXT ·above(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ BP, AX
	SUBQ SP, AX
	CMPQ AX, $FARTHEST
	JHI  none
	MOVQ (BP), CX
	MOVQ CX, AX
	SUBQ SP, AX
	CMPQ AX, $FARTHEST
	JHI  none
	MOVQ 8(CX), AX
	MOVQ AX, ret+0(FP)
	RET

none:
	MOVQ $0, ret+0(FP)
	RET
