# mypy: ignore-errors
"""The program: reads a molecule, runs SCF and CCSD with PySCF, and writes their dumps."""

import argparse
import contextlib
import io
import os
import re
import warnings

import numpy as np

from .dump_file import check_target
from .errors import ExportError
from .regularized import solve_regularized_ccsd
from .write_dumps import write_dump, write_lambda_dump, write_left_dump


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"{self.prog}: error: {message}\n")


def _arguments(argv):
    parser = _Parser(prog="pyscf_export",
                     description="Run SCF and CCSD with PySCF and write a Trifuse dump of it. Bad input ends with exit "
                                 "code 2, a calculation that does not converge with 1.")
    add = parser.add_argument
    add("molecule", help="geometry in angstrom, an .xyz file")
    add("--basis", required=True, help="a basis set that PySCF knows, for example cc-pvdz")
    add("--charge", type=int, default=0, help="charge of the molecule (default 0)")
    add("--spin", type=int, default=0, help="number of unpaired electrons (default 0)")
    add("--reference", choices=("rhf", "uhf", "rohf"), help="default: rhf without unpaired electrons, else uhf")
    add("--frozen", type=_frozen, default=0, metavar="N|LIST",
        help="number of frozen core orbitals (default 0), or a list of frozen orbitals counted from 0, for example 0,1,12-14")
    add("--density-fit", nargs="?", const="", metavar="AUXBASIS",
        help="density fitting in SCF and CCSD, with this auxiliary basis or PySCF's default; the dump has the factors")
    add("--ecp", metavar="NAME", help="effective core potentials that PySCF knows, for example lanl2dz")
    add("--symmetry", action="store_true", help="use point-group symmetry; the dump then carries the irreps")
    add("--omega2", type=float, help="also solve the regularised CCSD with this omega^2 in hartree and write its "
                                     "left-hand dump")
    add("--left", help="name of that left-hand dump (default: NAME.left_OMEGA2.h5 for -o NAME.h5)")
    add("--lambda", dest="lambda_dump", metavar="FILE", help="also write the Lambda amplitudes as a left-hand dump")
    add("--moments", action="store_true",
        help="also write the arrays for dressed moments, also in the dump of --omega2 (with --density-fit nothing more: the "
             "factors give them)")
    add("--triples", action="store_true", help="also print PySCF's own (T) correction")
    add("--memory", type=float, help="memory for PySCF in MB (default: PySCF's)")
    add("--verbose", type=int, default=0, help="PySCF's verbosity, 0 to 9 (default 0)")
    add("-o", "--output", required=True, help="name of the dump")
    add("--overwrite", action="store_true", help="replace any existing file; never the molecule")
    options = parser.parse_args(argv)
    if options.left and options.omega2 is None:
        parser.error("--left names the dump of --omega2, which is missing.")
    if options.omega2 is not None and not (np.isfinite(options.omega2) and options.omega2 >= 0):
        parser.error(f"--omega2 is {options.omega2}, but it must be at least 0.")
    if options.reference == "rhf" and options.spin != 0:
        parser.error("--reference rhf needs --spin 0; use uhf or rohf for unpaired electrons.")
    if options.omega2 is not None and not options.left:
        options.left = f"{os.path.splitext(options.output)[0]}.left_{options.omega2:g}.h5"
    outputs = {os.path.realpath(name) for name in (options.output, options.left, options.lambda_dump) if name}
    if len(outputs) < sum(name is not None for name in (options.output, options.left, options.lambda_dump)):
        parser.error("two dumps have the same name; give them different names.")
    if os.path.realpath(options.molecule) in outputs:
        parser.error(f"{options.molecule}: this file is the molecule and is never overwritten; choose another name.")
    return parser, options


def _frozen(text):
    """--frozen as PySCF takes it: a number, or a list of orbitals counted from 0."""
    if re.fullmatch(r"\d+", text):
        return int(text)
    orbitals = []
    for part in text.split(","):
        ends = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not ends or not text.strip(","):
            raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor a list such as 0,1,12-14")
        orbitals += range(int(ends[1]), int(ends[2] or ends[1]) + 1)
    if len(set(orbitals)) < len(orbitals):
        raise argparse.ArgumentTypeError(f"{text!r} names an orbital twice")
    return orbitals


def _check_labels(options):
    """Refuses atoms that PySCF would take for another atom than other programs do.

    PySCF drops the characters @ and : of a label, with which Psi4 and ORCA write an atom without charge and electrons.
    """
    with open(options.molecule, encoding="utf-8", errors="replace") as file:
        count, *lines = file.read().splitlines() or [""]
    atoms = int(count) if count.strip().isdecimal() else 0  # 0: PySCF refuses the file
    for line in lines[1:1 + atoms]:
        label = line.split()[0] if line.split() else ""
        if label and not re.fullmatch(r"[a-z]{1,2}[-_.]?\d*|\d+|(?:ghost|x)[-_.:]?[a-z]{1,2}\d*", label, re.IGNORECASE):
            raise ExportError(f"{options.molecule}: the label {label} is not understood; write the symbol of an element (He), or "
                              "ghost-He for its basis functions without charge and electrons.")


@contextlib.contextmanager
def _quietly():
    """Keeps what PySCF prints and warns of, before it raises an exception, from the user."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def _core_potentials(atoms, name):
    """The effective core potentials of this name for those elements that have one: names by element."""
    from pyscf import gto

    labels = [label for label, _ in gto.format_atom(atoms)] if name else []
    elements = {gto.mole._std_symbol(label) for label in labels if not gto.mole.is_ghost_atom(label)}
    found = {element: name for element in elements if gto.basis.load_ecp(name, element)}
    if name and not found:
        raise ExportError(f"--ecp {name}: none of these elements has such a core potential.")
    return found


def _molecule(options):
    from pyscf import df, gto

    try:
        _check_labels(options)
        atoms = gto.fromfile(options.molecule, format="xyz")
    except OSError as error:
        raise ExportError(f"{options.molecule}: cannot be read ({error.strerror}).") from error
    except (ValueError, IndexError, KeyError, RuntimeError) as error:
        raise ExportError(f"{options.molecule}: this is not an xyz file (number of atoms, comment, atoms).") from error
    try:
        with _quietly():  # the error below reports an unknown basis
            mol = gto.M(atom=atoms, basis=options.basis, charge=options.charge, spin=options.spin,
                        symmetry=options.symmetry, verbose=options.verbose, parse_arg=False, ecp=_core_potentials(atoms, options.ecp))
            if options.density_fit:
                df.addons.make_auxmol(mol, options.density_fit)
    except ExportError:
        raise
    except Exception as error:  # PySCF raises many kinds for an unknown element or basis or an impossible spin
        raise ExportError(f"PySCF refuses this molecule: {' '.join(str(error).split())}") from error
    if options.memory:
        mol.max_memory = options.memory
    if isinstance(options.frozen, int) and not 0 <= options.frozen <= min(mol.nelec):
        raise ExportError(f"--frozen is {options.frozen}, but 0 to {min(mol.nelec)} orbitals can be frozen.")
    return mol


def _run(options):
    for name, kind in ((options.output, "ccsd"), (options.left, "reg-ccsd"), (options.lambda_dump, "lambda")):
        if name:
            check_target(name, kind, options.overwrite)
    mol = _molecule(options)

    import pyscf.cc
    from pyscf import scf

    reference = options.reference or ("rhf" if options.spin == 0 else "uhf")
    mf = {"rhf": scf.RHF, "uhf": scf.UHF, "rohf": scf.ROHF}[reference](mol)
    if options.density_fit is not None:
        mf = mf.density_fit(auxbasis=options.density_fit or None)
    if isinstance(options.frozen, list) and max(options.frozen) >= mol.nao:
        raise ExportError(f"--frozen names the orbital {max(options.frozen)}, but the orbitals are 0 to {mol.nao - 1}.")
    mf.set(conv_tol=1e-11, conv_tol_grad=1e-7, max_cycle=200).run()
    if not mf.converged:
        raise RuntimeError("the SCF did not converge; write a script with a better initial guess, see write_dump.")
    mycc = pyscf.cc.CCSD(mf, frozen=options.frozen or None)
    mycc.set(conv_tol=1e-10, conv_tol_normt=1e-8, max_cycle=200)
    eris = mycc.ao2mo(mycc.mo_coeff)
    mycc.kernel(eris=eris)
    if not mycc.converged:
        raise RuntimeError("the CCSD did not converge; write a script with a better initial guess, see write_dump.")
    write_dump(mycc, options.output, eris=eris, overwrite=options.overwrite, moments=options.moments)
    print(f"E(SCF)                 {mf.e_tot:20.12f}")
    print(f"E(CCSD) correlation    {mycc.e_corr:20.12f}")
    print(f"dump                   {options.output}")
    if options.omega2 is not None:
        reg = solve_regularized_ccsd(mycc, options.omega2, eris=eris)
        if not reg.converged:
            raise RuntimeError(f"the regularised CCSD (omega2 = {options.omega2:g}) did not converge.")
        write_left_dump(reg, options.left, overwrite=options.overwrite, eris=eris,
                        moments=options.moments and options.density_fit is None)
        print(f"E(Reg-CCSD) correlation{reg.e_corr:20.12f}")
        print(f"left-hand dump         {options.left}")
    if options.lambda_dump:
        mycc.solve_lambda(eris=eris)
        if not mycc.converged_lambda:
            raise RuntimeError("the Lambda equations did not converge.")
        write_lambda_dump(mycc, options.lambda_dump, overwrite=options.overwrite, eris=eris)
        print(f"Lambda left-hand dump  {options.lambda_dump}")
    if options.triples:
        print(f"E(T) of PySCF          {mycc.ccsd_t(eris=eris):20.12f}")
        if reference == "rohf":
            print("(for an ROHF reference PySCF keeps the f_ov t2 term but neglects off-diagonal f_ij and f_ab)")


def main(argv=None):
    parser, options = _arguments(argv)
    try:
        _run(options)
    except ExportError as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    except (OSError, RuntimeError) as error:
        parser.exit(1, f"{parser.prog}: error: {error}\n")
    return 0
