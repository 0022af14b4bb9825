"""E(T) and its derivatives by every array that enters, with NumPy and whole six-index arrays: for small molecules.

Arrays as those of trifuse.triples, fock_ov [i,a] instead of fock. A derivative has the shape and the symmetry of its array.
"""

import itertools

import numpy as np

PERMUTATIONS = list(itertools.permutations(range(3)))


def parity(p):
    return 1 if p in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1


def spin_sum(w):
    """4 W^abc + W^bca + W^cab - 2 W^cba - 2 W^acb - 2 W^bac, holes fixed."""
    weight = {(0, 1, 2): 4, (1, 2, 0): 1, (2, 0, 1): 1}
    return sum(weight.get(p, -2) * w.transpose(0, 1, 2, *(3 + q for q in p)) for p in PERMUTATIONS)


# Symmetrisers: common permutations of pairs; of three equal spins; of two equal spins.
PAIRS = [(1, p, p) for p in PERMUTATIONS]
THREE = [(parity(p) * parity(q), p, q) for p in PERMUTATIONS for q in PERMUTATIONS]
TWO = [((1 if p == q else -1), p, q) for p in ((0, 1, 2), (1, 0, 2)) for q in ((0, 1, 2), (1, 0, 2))]


class Case:
    """E = norm * sum W K(W + S) / x of one spin case. `w`, `s`: products (factor, X, Y, "x,y") -> ijkabc."""

    def __init__(self, w, s, symmetriser, norm, metric, holes, particles):
        self.w, self.s, self.symmetriser, self.norm, self.metric = w, s, symmetriser, norm, metric
        self.holes, self.particles = holes, particles

    def add(self, arrays, bars, omega2):
        eps = [arrays["eps_occ" + s] for s in self.holes] + [arrays["eps_vir" + s] for s in self.particles]
        x = -3 * omega2 + sum((1 if n < 3 else -1) * e.reshape([-1 if m == n else 1 for m in range(6)])
                              for n, e in enumerate(eps))
        if 0 in x.shape:
            return 0.0

        def forward(terms):
            raw = sum(c * np.einsum(f"{of}->ijkabc", arrays[one], arrays[two], optimize=True) for c, one, two, of in terms)
            return sum(sign * raw.transpose(*h, *(3 + q for q in p)) for sign, h, p in self.symmetriser)

        w, s = forward(self.w), forward(self.s)
        right, left = self.metric(w) / x, (w + s) / x
        factor = len(self.symmetriser) * self.norm
        for seed, terms in ((factor * (right + self.metric(left)), self.w), (factor * right, self.s)):
            for c, one, two, of in terms:
                first, second = of.split(",")
                bars[one] += c * np.einsum(f"ijkabc,{second}->{first}", seed, arrays[two], optimize=True)
                bars[two] += c * np.einsum(f"ijkabc,{first}->{second}", seed, arrays[one], optimize=True)
        for n, spin in enumerate(self.holes + self.particles):
            others = tuple(m for m in range(6) if m != n)
            bars[("eps_occ" if n < 3 else "eps_vir") + spin] += (-1 if n < 3 else 1) * self.norm * (left * right).sum(others)
        return self.norm * np.sum(right * (w + s))


EXCHANGES = {"pairs": [(1, (1, 0, 3, 2))], "last": [(1, (0, 1, 3, 2))], "electrons": [(1, (2, 3, 0, 1))],
             "spins": [(-1, (1, 0, 2, 3)), (-1, (0, 1, 3, 2))]}


def projected(name, bar):
    """The projection of a derivative on the symmetry of its array."""
    kind = {"t2": "pairs", "t2_aa": "spins", "t2_bb": "spins", "ovov": "electrons", "ovov_aaaa": "electrons",
            "ovov_bbbb": "electrons"}.get(name, "last" if name[:4] in ("ovvv", "ovoo") else None)
    for sign, axes in EXCHANGES.get(kind, []):
        bar = 0.5 * (bar + sign * bar.transpose(axes))
    return bar


def derivatives(arrays, omega2=0.0):
    """E(T) and the derivatives by all arrays and by omega2."""
    arrays = dict(arrays)
    bars = {name: np.zeros_like(values) for name, values in arrays.items()}
    if "t2" in arrays:
        case = Case([(1, "ovvv", "t2", "iabd,kjcd"), (-1, "ovoo", "t2", "iajm,mkbc")],
                    [(0.5, "ovov", "t1", "iajb,kc"), (0.5, "t2", "fock_ov", "ijab,kc")],
                    PAIRS, 1 / 3, spin_sum, ("", "", ""), ("", "", ""))
        energy = case.add(arrays, bars, omega2)
    else:
        energy = 0.0
        for name, of, axes in (("t2_ba", "t2_ab", (1, 0, 3, 2)), ("ovov_bbaa", "ovov_aabb", (2, 3, 0, 1))):
            arrays[name] = arrays[of].transpose(axes)
            bars[name] = np.zeros_like(arrays[name])
        for case in (case for x, y in ("ab", "ba") for case in _cases(x, y)):
            energy += case.add(arrays, bars, omega2)
        bars["t2_ab"] += bars.pop("t2_ba").transpose(1, 0, 3, 2)
        bars["ovov_aabb"] += bars.pop("ovov_bbaa").transpose(2, 3, 0, 1)
    bars = {name: projected(name, bar) for name, bar in bars.items()}
    bars["omega2"] = np.asarray(sum(np.sum(bar) for name, bar in bars.items() if name.startswith("eps_vir")))
    return energy, bars


def _cases(x, y):
    """Three spins x, and two spins x with one spin y: i j a b have spin x, k and c have spin y."""
    xx, yy = x * 2, y * 2
    yield Case([(0.5, f"ovvv_{xx}{xx}", f"t2_{xx}", "iabd,kjcd"), (-0.5, f"ovoo_{xx}{xx}", f"t2_{xx}", "iajm,mkbc")],
               [(0.5, f"ovov_{xx}{xx}", f"t1_{x}", "iajb,kc"), (0.25, f"t2_{xx}", f"fock_ov_{x}", "ijab,kc")],
               THREE, 1 / 36, lambda w: w, ("_" + x,) * 3, ("_" + x,) * 3)
    yield Case([(1, f"ovvv_{xx}{xx}", f"t2_{x}{y}", "iabd,jkdc"), (1, f"ovvv_{xx}{yy}", f"t2_{x}{y}", "iacd,jkbd"),
                (0.5, f"ovvv_{yy}{xx}", f"t2_{xx}", "kcad,jibd"), (-1, f"ovoo_{xx}{xx}", f"t2_{x}{y}", "iajm,mkbc"),
                (-1, f"ovoo_{xx}{yy}", f"t2_{x}{y}", "iakm,jmbc"), (-0.5, f"ovoo_{yy}{xx}", f"t2_{xx}", "kcim,mjab")],
               [(0.5, f"ovov_{xx}{xx}", f"t1_{y}", "iajb,kc"), (1, f"ovov_{xx}{yy}", f"t1_{x}", "iakc,jb"),
                (0.25, f"t2_{xx}", f"fock_ov_{y}", "ijab,kc"), (1, f"t2_{x}{y}", f"fock_ov_{x}", "ikac,jb")],
               TWO, 1 / 4, lambda w: w, ("_" + x, "_" + x, "_" + y), ("_" + x, "_" + x, "_" + y))
