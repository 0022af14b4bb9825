"""Calls that `mypy --strict` accepts, and wrong ones, which it must report: otherwise `type: ignore` is itself an error.

test_triples.py looks at the same names at run time.
"""

from __future__ import annotations

import numpy as np

import trifuse
import trifuse.pyscf


def right_calls(mycc: object) -> float:
    arrays = np.zeros((1, 1))
    result = trifuse.triples(t1=arrays, t2_ab=arrays, irrep_occ=[0], omega2=[0.0, 0.1], device="cuda", gpus=[0], journal=None,
                             progress=lambda done, total: done < total)
    result = trifuse.run("dump.h5", left="left.h5", threads=2, check=False, method=["ct", "cr-t"])
    with trifuse.pyscf.patch(device="cuda", left="lambda"):
        energy = trifuse.pyscf.ccsd_t(mycc, allow_unconverged=True, verbose=0, form="auto", method="ct")
    trifuse.pyscf.Gradients(mycc, device="cuda").as_scanner()
    trifuse.pyscf.dip_moment(mycc, relaxed=False, omega2=0.1)
    density = trifuse.triples(t1=arrays, derivatives=["t1", "t2"]).derivatives["t2"].sum()
    product: float = density + trifuse.contract("ax,xb->ab", arrays, [[1.0]], beta=0, threads=1)[0, 0]
    trifuse.contract("ax,xb->ab", arrays, arrays, arrays, gpus=[0, 1], memory=1 << 30)
    return product + energy + float(trifuse.pyscf.triples(mycc, omega2=0.1)) + result.e_t


def wrong_calls(mycc: object) -> None:
    trifuse.triples(t1=[[0.0]], devise="cpu")  # type: ignore[call-arg]
    trifuse.triples(t1=[[0.0]], threads="two")  # type: ignore[arg-type]
    trifuse.run("dump.h5", t1=None)  # type: ignore[call-arg]
    trifuse.run("dump.h5", check="no")  # type: ignore[arg-type]
    trifuse.pyscf.ccsd_t(mycc, tilesize=20)  # type: ignore[call-arg]
    trifuse.contract("ax,xb->ab", [[1.0]])  # type: ignore[call-overload]
    trifuse.contract("x,x->", [1.0], [1.0], [0.0])  # type: ignore[call-overload]
    trifuse.contract("x,x->", [1.0], [1.0], gpus="all")  # type: ignore[arg-type]
    trifuse.run("dump.h5", method=[1])  # type: ignore[list-item]
    trifuse.pyscf.patch(omega2="0.1")  # type: ignore[arg-type]
    trifuse.pyscf.make_rdm1(mycc, basis="ao")  # type: ignore[call-arg]
