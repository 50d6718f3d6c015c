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

// func entry() uintptr
//
// The first function of a goroutine has a zero frame pointer below it and
// returns into runtime.goexit. The address wanted is the return address one
// frame earlier, which lies inside that first function.
TEXT ·entry(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ BP, AX
	XORQ DX, DX
loop:
	TESTQ AX, AX
	JZ   done
	MOVQ DX, CX
	MOVQ 8(AX), DX
	MOVQ (AX), AX
	JMP  loop
done:
	MOVQ CX, ret+0(FP)
	RET
