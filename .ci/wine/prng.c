/*
 * bcryptprimitives.dll for a wine that has none: wine 8 lacks it, and the runtime of Go asks it
 * for random numbers when a program starts. .ci/run builds it.
 */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length); /* RtlGenRandom */

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length)
{
	return SystemFunction036(buffer, (ULONG)length);
}
