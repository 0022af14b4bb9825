"""NWChem files of a made-up closed-shell molecule of any size.

The bundled dumps are done before anybody could interrupt them, and their orbital energies are those of sound molecules.
"""

import functools
import random
import struct
from array import array

from trifuse_program import FOLDERS_OF_MADE_UP_MOLECULES, sanitized

# Orbitals of a molecule for which the reference executor needs half a second on one core, in thousands of tasks with tiles of 2. This is
# long enough for an interruption. With the sanitizers everything takes ten times as long.
HALF_A_SECOND = {"occupied": 5, "virtual": 12} if sanitized() else {"occupied": 7, "virtual": 18}


class MadeUpMolecule:
    """Random amplitudes and integrals with the symmetry of closed shells without a point group.

    There is one tile for each of the four classes of orbitals, and the integrals are stored as `2eorb` does.
    """

    def __init__(self, occupied, virtual, seed=1, highest_occupied=-0.5, lowest_virtual=0.2):
        self.occupied, self.virtual = occupied, virtual
        self.random = random.Random(seed)
        self.energies_occupied = [highest_occupied - 0.1 * (occupied - 1 - i) for i in range(occupied)]
        self.energies_virtual = [lowest_virtual + 0.1 * a for a in range(virtual)]
        o, v = range(occupied), range(virtual)
        self.t1 = {(a, i): self._number(0.01) for a in v for i in o}
        # Integrals (ai|jk), (ai|bj) and (bc|ai). They are small, so that the triples correction stays below the energy of the doubles.
        self.vooo = self._symmetric(((a, i, j, k) for a in v for i in o for j in o for k in o), (0, 1, 3, 2), 0.01)
        self.vovo = self._symmetric(((a, i, b, j) for a in v for i in o for b in v for j in o), (2, 3, 0, 1), 0.1)
        self.vvvo = self._symmetric(((b, c, a, i) for b in v for c in v for a in v for i in o), (1, 0, 2, 3), 0.01)
        # Doubles of first order.
        self.t2 = {(i, j, a, b): self.vovo[a, i, b, j] / self._denominator(i, j, a, b) for i in o for j in o for a in v for b in v}

    def _denominator(self, i, j, a, b):
        energies = (self.energies_occupied[i] + self.energies_occupied[j]) - (self.energies_virtual[a] + self.energies_virtual[b])
        return min(energies, -1.0)

    def _number(self, size):
        return self.random.uniform(-size, size)

    def _symmetric(self, indices, exchange, size):
        """Random numbers that do not change if the indices are permuted by `exchange`."""
        numbers = {}
        for index in indices:
            partner = tuple(index[place] for place in exchange)
            numbers[index] = numbers[partner] if partner in numbers else self._number(size)
        return numbers

    def correlation_energy(self):
        """The CCSD correlation energy of these amplitudes with a Fock matrix that is diagonal."""
        total = 0.0
        for (i, j, a, b), t in self.t2.items():
            tau = t + self.t1[a, i] * self.t1[b, j]
            total += tau * (2.0 * self.vovo[a, i, b, j] - self.vovo[a, j, b, i])
        return total

    def places_in_dump(self, content):
        """{dataset: (first byte, bytes)} of a dump of this molecule, found by the numbers."""
        o, v = range(self.occupied), range(self.virtual)
        arrays = {
            "eps_occ": self.energies_occupied,
            "eps_vir": self.energies_virtual,
            "t1": (self.t1[a, i] for i in o for a in v),
            "t2": (self.t2[i, j, a, b] for i in o for j in o for a in v for b in v),
            "ovov": (self.vovo[a, i, b, j] for i in o for a in v for j in o for b in v),
            "ovoo": (self.vooo[a, i, j, k] for i in o for a in v for j in o for k in o),
            "ovvv": (self.vvvo[b, c, a, i] for i in o for a in v for b in v for c in v),
        }
        places = {}
        for name, values in arrays.items():
            numbers = array("d", values).tobytes()
            assert content.count(numbers) == 1, name
            places[name] = content.index(numbers), len(numbers)
        return places

    def write(self, folder, name="c"):
        """Returns the prefix of the files."""
        return write_files(folder, name, self.files())

    def files(self):
        """{end of the name: content}"""
        o, v = range(self.occupied), range(self.virtual)
        same = (self.t2[i, j, a, b] - self.t2[j, i, a, b] for a in v for b in v for i in o for j in o)
        mixed = (self.t2[i, j, a, b] for a in v for b in v for i in o for j in o)
        # The first index is the fastest here. Integrals that no triples need are left zero.
        zeros = array("d", [0.0])
        return {"f1int.000000": self._tensor(self._fock()),
                "t1amp.000000": self._tensor(self.t1[a, i] for a in v for i in o),
                "t2amp.000000": self._tensor(same, mixed),
                "v2int.000000": self._tensor(
                    zeros * self.occupied**4,
                    (self.vooo[a, i, j, k] for k in o for j in o for i in o for a in v),
                    (self.vovo[a, i, b, j] for j in o for b in v for i in o for a in v),
                    zeros * (self.occupied**2 * self.virtual**2),
                    (self.vvvo[b, c, a, i] for i in o for a in v for c in v for b in v),
                    zeros * self.virtual**4),
                "out": self._output().encode()}

    def _fock(self):
        """Blocks (occupied|occupied), (occupied|virtual), (virtual|occupied), (virtual|virtual)."""
        for energies, before, after in ((self.energies_occupied, 0, self.occupied * self.virtual),
                                        (self.energies_virtual, self.occupied * self.virtual, 0)):
            yield from (0.0 for _ in range(before))
            for p, energy in enumerate(energies):
                yield from (energy if p == q else 0.0 for q in range(len(energies)))
            yield from (0.0 for _ in range(after))

    @staticmethod
    def _tensor(*blocks):
        values = array("d")
        for block in blocks:
            values.extend(block)
        return struct.pack("<qq", 1, len(values)) + values.tobytes()

    def _output(self):
        """The lines of NWChem's output that describe the files."""
        tiles = (("alpha", self.occupied), ("beta", self.occupied), ("alpha", self.virtual), ("beta", self.virtual))
        lines = ["          NWChem Extensible Many-Electron Theory Module",
                 "         Wavefunction type : Restricted Hartree-Fock",
                 f"           Alpha electrons :   {self.occupied}",
                 f"            Beta electrons :   {self.occupied}",
                 "        Alpha frozen cores :     0",
                 "         Beta frozen cores :     0",
                 "        Use of symmetry is : off",
                 " Sorted"]
        number = 0
        for spin, energies in ((1, self.energies_occupied), (2, self.energies_occupied),
                               (1, self.energies_virtual), (2, self.energies_virtual)):
            for energy in energies:
                number += 1
                lines.append(f"   {number}  spin=   {spin}  irep=   0  eval=  {energy!r}")
        lines += ["  Block   Spin    Irrep     Size     Offset   Alpha",
                  "  -------------------------------------------------"]
        offset = 0
        for number, (spin, size) in enumerate(tiles, start=1):
            partner = number - 1 if spin == "beta" else number
            lines.append(f"   {number}    {spin}     a     {size} doubles     {offset}     {partner}")
            offset += size
        lines.append(f"\n CCSD correlation energy / hartree =  {self.correlation_energy():.15f}")
        return "\n".join(lines) + "\n"


def write_files(folder, name, files):
    folder.mkdir(exist_ok=True)
    FOLDERS_OF_MADE_UP_MOLECULES.add(str(folder.parent))
    for end, content in files.items():
        (folder / f"{name}.{end}").write_bytes(content)
    return folder / name


@functools.lru_cache(maxsize=None)
def _files(occupied, virtual):
    return MadeUpMolecule(occupied, virtual).files()


def write_made_up_molecule(folder, occupied, virtual):
    """Returns the prefix of the files of a MadeUpMolecule, whose numbers are made once: that takes up to a second."""
    return write_files(folder, "c", _files(occupied, virtual))
