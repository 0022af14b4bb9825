/* The sentence about a communicator in a build without MPI. */
#include <stdio.h>
#include <string.h>

#include "fortran_iface/trifuse_mpi.h"

int main(int argc, char** argv) {
  trifuse_status status;
  trifuse_amplitudes amplitudes = trifuse_open_amplitudes(&status, argc > 1 ? argv[1] : "");
  trifuse_calculation calculation = trifuse_new_calculation(&status, amplitudes, NULL);
  if (status.code != TRIFUSE_SUCCESS) return 2;
  trifuse_set_communicator(&status, calculation, 0);
  trifuse_delete_calculation(&calculation);
  trifuse_delete_amplitudes(&amplitudes);
  printf("%s\n", status.message);
  return status.code != TRIFUSE_BAD_USAGE || strstr(status.message, "has no MPI") == NULL;
}
