"""Computes with the installed package, for test_wheel.py. SciPy is imported `before` or `after`. Prints JSON."""

import ctypes
import glob
import json
import os
import re
import sys

import numpy as np

assert "scipy" not in sys.modules


def threads_of_numpy():
    (path,) = glob.glob(os.path.join(os.path.dirname(np.__file__), "..", "numpy.libs", "libscipy_openblas*.so"))
    return ctypes.CDLL(path).scipy_openblas_get_num_threads64_()


if sys.argv[1] == "before":
    import scipy.linalg

threads = threads_of_numpy()
product = np.ones((300, 300)) @ np.ones((300, 300))
import trifuse  # noqa: E402

arrays = dict(eps_occ=[-0.5], eps_vir=[0.3, 0.9], t1=np.zeros((1, 2)), t2=np.zeros((1, 1, 2, 2)),
              ovvv=np.zeros((1, 2, 2, 2)), ovoo=np.zeros((1, 2, 1, 1)), ovov=np.zeros((1, 2, 1, 2)))
assert float(trifuse.triples(**arrays)) == 0.0
import scipy.linalg  # noqa: E402

assert (np.ones((300, 300)) @ np.ones((300, 300)) == product).all()
assert np.allclose(scipy.linalg.eigvalsh(np.eye(50)), 1.0)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from molecules import restricted_arrays, water  # noqa: E402

mycc = water()
energy = float(trifuse.triples(fock_in_triples=True, **restricted_arrays(mycc)))
assert os.path.dirname(trifuse.__file__) in open("/proc/self/maps").read()
libraries = sorted(set(re.findall(r"/\S+\.so\S*$", open("/proc/self/maps").read(), re.MULTILINE)))
print(json.dumps({"E(T)": energy, "PySCF": mycc.ccsd_t(), "threads of NumPy": threads,
                  "threads of NumPy after": threads_of_numpy(), "libraries": libraries}))
