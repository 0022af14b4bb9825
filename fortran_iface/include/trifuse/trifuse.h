/* The name of this header for programs of others: <trifuse/trifuse.h>. */
#include "fortran_iface/trifuse.h"
