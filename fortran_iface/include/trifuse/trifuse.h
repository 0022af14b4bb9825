/* The name of this header for other programs: <trifuse/trifuse.h>. */
#include "fortran_iface/trifuse.h"
