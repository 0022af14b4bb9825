# mypy: ignore-errors
"""Write the Trifuse dump (tce_tiles/docs/dump-format.md) of a PySCF coupled-cluster calculation.

Copy this folder next to your script; it needs pyscf, numpy and h5py. The Python package `trifuse` contains the same
folder and calls its functions.

    import pyscf_export
    mycc = pyscf.cc.CCSD(mf).run()
    pyscf_export.write_dump(mycc, "dump.h5")                            # trifuse run dump.h5

    reg = pyscf_export.solve_regularized_ccsd(mycc, 0.1)                # Reg-CCSD(T), omega^2 = 0.1 hartree
    pyscf_export.write_left_dump(reg, "left.h5")                        # trifuse run dump.h5 --left left.h5

    pyscf_export.write_lambda_dump(mycc, "lambda.h5")                   # Lambda-CCSD(T), likewise with --left

Supported: RCCSD and UCCSD on real RHF, UHF and ROHF references, with or without frozen orbitals and density fitting.
A dump takes its name when it is complete. It replaces an earlier dump of the same kind that this package wrote. It replaces
any other file only with `overwrite=True`.
`seal` adds the checksums of the format page to any complete dump, also of another program. `verify_seal` compares them.
As a program: `python3 pyscf_export molecule.xyz --basis cc-pvdz -o dump.h5`, where `pyscf_export` is this folder, or
`python3 -m pyscf_export ...`; see --help.
"""

from .amplitudes import checked_amplitudes, solved_lambda
from .arrays import amplitude_arrays, check_integrals, factor_arrays, integral_arrays, integrals_of_energy
from .calculation import (COUPLED, check_converged, check_supported, convergence_of, convergence_of_lambda, fock_only,
                          is_density_fitted, is_periodic, provenance, scf_warning, with_real_orbitals)
from .checksums import seal, verify_seal
from .dump_file import new_dump
from .errors import ExportError, NotSupported
from .moments import check_moment_integrals, moment_arrays, moment_bytes, product_arrays
from .orbitals import NON_CANONICAL, coupling_within_spaces, fock_matrices, orbital_numbers, orbitals_of, rohf_warning
from .regularized import omega2_of, solve_regularized_ccsd
from .write_dumps import write_dump, write_lambda_dump, write_left_dump

# Functions import PySCF themselves, because `seal`, `verify_seal` and dumps of other programs need only h5py and numpy.

__all__ = [
    "ExportError", "seal", "solve_regularized_ccsd", "verify_seal", "write_dump", "write_lambda_dump", "write_left_dump",
    # The Python package `trifuse` calls these functions, too. They may change without notice.
    "COUPLED", "NON_CANONICAL", "NotSupported", "amplitude_arrays", "check_converged", "check_integrals", "check_moment_integrals",
    "check_supported", "checked_amplitudes", "convergence_of", "convergence_of_lambda", "coupling_within_spaces", "factor_arrays", "fock_matrices",
    "fock_only", "integral_arrays", "integrals_of_energy", "is_density_fitted", "is_periodic", "new_dump", "omega2_of",
    "moment_arrays", "moment_bytes", "orbital_numbers", "orbitals_of", "product_arrays", "provenance", "rohf_warning", "scf_warning", "solved_lambda", "with_real_orbitals",
]
