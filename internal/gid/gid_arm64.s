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

// func entry() uintptr
//
// The saved frame pointer and, above it, the return address form the same
// chain as on amd64.
TEXT ·entry(SB), NOSPLIT|NOFRAME, $0-8
	MOVD R29, R0
	MOVD ZR, R2
	MOVD ZR, R1
loop:
	CBZ  R0, done
	MOVD R2, R1
	MOVD 8(R0), R2
	MOVD (R0), R0
	B    loop
done:
	MOVD R1, ret+0(FP)
	RET
