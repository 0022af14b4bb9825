/* The whole C interface on one molecule: water from NWChem's files, whose (T) energy NWChem printed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fortran_iface/trifuse.h"

static int failures = 0;

static void expect(int condition, const char* what) {
  if (condition) return;
  printf("FAILED: %s\n", what);
  ++failures;
}

static void expect_success(const trifuse_status* status, const char* what) {
  if (status->code != TRIFUSE_SUCCESS) printf("%s: %s\n", what, status->message);
  expect(status->code == TRIFUSE_SUCCESS, what);
}

int main(int argc, char** argv) {
  trifuse_status status;
  trifuse_amplitudes water, nothing;
  trifuse_calculation calculation;
  const double values[2] = {0.0, 0.1};
  double omega2 = -1.0, bracket = 0.0, paren = 0.0;
  if (argc != 2) return 2;
  expect(strlen(trifuse_version()) >= 5, "a version");

  water = trifuse_open_amplitudes(&status, argv[1]);
  expect_success(&status, "open");
  expect(fabs(trifuse_correlation_energy(&status, water) - -0.213343229409) < 1e-10, "CCSD energy");
  calculation = trifuse_new_calculation(&status, water, NULL);
  expect_success(&status, "new calculation");
  expect(trifuse_energy_count(&status, calculation) == 0, "no energy before a run");
  trifuse_set_omega2(&status, calculation, 2, values);
  expect_success(&status, "omega2");
  trifuse_set_threads(&status, calculation, 2);
  trifuse_run(&status, calculation);
  expect_success(&status, "run");
  expect(trifuse_energy_count(&status, calculation) == 2, "two energies");
  trifuse_get_energy(&status, calculation, 0, &omega2, &bracket, &paren);
  expect_success(&status, "energy");
  expect(omega2 == 0.0 && fabs(bracket - -0.00314550539348) < 1e-10, "E[T]");
  expect(fabs(paren - -0.00306002229317) < 1e-10, "E(T)");
  trifuse_get_energy(&status, calculation, 1, &omega2, &bracket, &paren);
  expect(omega2 == 0.1 && fabs(paren - -0.00292160472672) < 1e-10, "denominator-shifted E(T)");

  /* What goes wrong comes back as a sentence. */
  trifuse_get_energy(&status, calculation, 2, &omega2, &bracket, &paren);
  expect(status.code == TRIFUSE_BAD_USAGE && strlen(status.message) > 20, "an index too large");
  trifuse_set_rohf(&status, calculation, TRIFUSE_ROHF_SEMICANONICAL);
  trifuse_run(&status, calculation);
  expect(status.code == TRIFUSE_BAD_USAGE && strstr(status.message, "ROHF") != NULL, "semicanonical for RHF");
  expect(trifuse_energy_count(&status, calculation) == 0, "no energies of a failed run");
  nothing = trifuse_open_amplitudes(&status, "no/such/file");
  expect(nothing == NULL && status.code == TRIFUSE_BAD_INPUT && strstr(status.message, "no/such/file") != NULL,
         "absent file");
  trifuse_run(&status, (trifuse_calculation)(void*)water);
  expect(status.code == TRIFUSE_BAD_HANDLE, "a handle of another type");
  trifuse_run(&status, NULL);
  expect(status.code == TRIFUSE_BAD_HANDLE, "a null handle");

  trifuse_delete_calculation(&calculation);
  trifuse_delete_amplitudes(&water);
  trifuse_delete_amplitudes(&water);
  expect(calculation == NULL && water == NULL, "deleted handles are null");
  return failures == 0 ? 0 : 1;
}
