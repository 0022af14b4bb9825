/* The name of this header for other programs: <trifuse/trifuse_arrays.h>. */
#include "fortran_iface/trifuse.h"
#include "fortran_iface/trifuse_arrays.h"
