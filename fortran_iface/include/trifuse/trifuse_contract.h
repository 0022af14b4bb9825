/* The name of this header for other programs: <trifuse/trifuse_contract.h>. */
#include "fortran_iface/trifuse.h"
#include "fortran_iface/trifuse_contract.h"
