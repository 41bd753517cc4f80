/* Lets C++'s random_device ask the kernel, not the processor, so that a run in virtual time repeats. To be preloaded. */
#include <sys/random.h>

unsigned _ZNSt13random_device9_M_getvalEv(void *device)
{
	unsigned value = 0;

	(void)device;
	(void)!getrandom(&value, sizeof(value), 0);
	return value;
}
