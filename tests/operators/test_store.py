import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators import (
    KernelAtoms,
    SpectralAtoms,
    load_atoms,
    save_atoms,
    spectral_atoms,
)

pytestmark = pytest.mark.usefixtures("x64")


def kernel_atoms():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(3, 6, 2)) + 1j
    x, y = rng.normal(size=(2, 6, 3))
    return KernelAtoms(z[0, 0], z[1], z[2], x, y, None, np.arange(6) < 5, np.float64(2))


def check_equal(one, two):
    assert type(one) is type(two)
    for name, a, b in zip(one._fields, one, two):
        assert (a is None) == (b is None), name
        if a is not None:
            assert np.asarray(a).dtype == b.dtype
            np.testing.assert_array_equal(a, b)


def test_round_trip(tmp_path, stable_matrices):
    one = spectral_atoms(stable_matrices(1, 4)[0], 0.5)
    batch = jax.vmap(lambda a: spectral_atoms(a, 0.5))(stable_matrices(3, 4))
    bare = SpectralAtoms(one.lam, one.right, one.left)
    for i, atoms in enumerate((one, batch, bare, kernel_atoms())):
        file = tmp_path / f"{i}.npz"
        save_atoms(file, atoms)
        check_equal(atoms, load_atoms(str(file)))
    assert sorted(os.listdir(tmp_path)) == [f"{i}.npz" for i in range(4)]


def test_a_file_is_replaced(tmp_path):
    file = tmp_path / "atoms.npz"
    save_atoms(file, kernel_atoms())
    changed = kernel_atoms()._replace(weight=np.array([0.5, 0.5]))
    save_atoms(file, changed)
    check_equal(changed, load_atoms(file))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    file = tmp_path / "atoms.npz"
    save_atoms(file, kernel_atoms())
    before = file.read_bytes()

    def broken(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="disk full"):
        save_atoms(file, kernel_atoms())
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["atoms.npz"]


def test_double_precision_becomes_single_without_x64(tmp_path):
    file = tmp_path / "atoms.npz"
    save_atoms(file, kernel_atoms())
    with jax.enable_x64(False):
        atoms = load_atoms(file)
    assert (atoms.lam.dtype, atoms.x.dtype) == (jnp.complex64, jnp.float32)
    assert atoms.mask.dtype == bool


@pytest.mark.usefixtures("plain_errors")
def test_bad_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_atoms(tmp_path / "none.npz")
    text = tmp_path / "text.npz"
    text.write_text("no archive")
    with pytest.raises(ValueError, match="path: expected a file that save_atoms wrote"):
        load_atoms(text)
    text.write_bytes(b"")
    with pytest.raises(ValueError, match="path: expected a file that save_atoms wrote"):
        load_atoms(text)
    other = tmp_path / "other.npz"
    np.savez(other, lam=np.ones(3))
    with pytest.raises(ValueError, match="path: expected a file that save_atoms wrote"):
        load_atoms(other)
    np.savez(other, type="SpectralAtoms", format=1, lam=np.ones(3))
    with pytest.raises(ValueError, match=r"with fields \['lam'\]"):
        load_atoms(other)
    np.savez(other, type="SpectralAtoms", format=2, lam=np.ones(3))
    with pytest.raises(ValueError, match="path: expected format 1 or earlier; got"):
        load_atoms(other)
    plain = tmp_path / "array.npy"
    np.save(plain, np.ones(3))
    with pytest.raises(ValueError, match="path: expected a file that save_atoms wrote"):
        load_atoms(plain)
    with pytest.raises(TypeError, match="atoms: expected SpectralAtoms or Kernel"):
        save_atoms(tmp_path / "x.npz", np.ones(3))
    with pytest.raises(ValueError, match="path: expected a name that ends in .npz"):
        save_atoms(tmp_path / "x.json", kernel_atoms())


def fields_of(atoms):
    fields = {k: v for k, v in atoms._asdict().items() if v is not None}
    return {"type": type(atoms).__name__, "format": 1, **fields}


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lam": np.ones(3)}, r"beta: expected shape \(6, 3\); got shape \(6, 2\)"),
        ({"alpha": np.ones((7, 2))}, r"alpha: expected shape \(6, 2\)"),
        ({"condition": np.ones(2)}, r"condition: expected shape \(\)"),
        ({"lam": np.ones((4, 2))}, "with shapes .*'lam': \\(4, 2\\)"),
        ({"lam": np.array(1.0)}, r"lam: expected shape \(r,\)"),
        ({"lam": np.array(["a", "b"])}, "with lam of dtype <U1"),
        ({"format": "one"}, "with format 'one'"),
        ({"format": [1, 1]}, r"with format \[1, 1\]"),
        ({"format": 0}, "with format 0"),
    ],
)
def test_fields_that_do_not_fit_are_named(tmp_path, changes, message):
    file = tmp_path / "bad.npz"
    np.savez(file, **{**fields_of(kernel_atoms()), **changes})
    with pytest.raises(ValueError, match=f"path: expected a file.*bad.npz.*{message}"):
        load_atoms(file)


def test_spectral_fields_that_do_not_fit_are_named(tmp_path):
    file = tmp_path / "bad.npz"
    shapes = {"lam": np.ones(3), "right": np.ones((2, 2)), "left": np.ones((7, 2))}
    np.savez(file, type="SpectralAtoms", format=1, **shapes)
    with pytest.raises(ValueError, match=r"bad.npz.*right: expected shape \(d, 3\)"):
        load_atoms(file)


def test_a_damaged_member_is_a_value_error(tmp_path):
    file = tmp_path / "atoms.npz"
    save_atoms(file, kernel_atoms())
    whole = file.read_bytes()
    failed = 0
    for place in range(0, len(whole), 23):
        file.write_bytes(whole[:place] + b"\xff\x00\xff" + whole[place + 3 :])
        try:
            load_atoms(file)  # a byte of the dates, say, may be anything
        except ValueError as error:
            failed += "atoms.npz" in str(error)
    assert failed > 20


def test_bfloat16_is_stored_as_float32(tmp_path):
    atoms = kernel_atoms()._replace(weight=jnp.array([0.5, 0.25], jnp.bfloat16))
    save_atoms(tmp_path / "atoms.npz", atoms)
    weight = load_atoms(tmp_path / "atoms.npz").weight
    assert (weight.dtype, weight.tolist()) == (jnp.float32, [0.5, 0.25])


def test_mode_follows_the_umask_and_a_link_stays(tmp_path):
    target, link = tmp_path / "target.npz", tmp_path / "link.npz"
    link.symlink_to(target)
    before = os.umask(0o027)
    try:
        save_atoms(link, kernel_atoms())
    finally:
        os.umask(before)
    assert target.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    check_equal(kernel_atoms(), load_atoms(target))


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        save_atoms(tmp_path / "none" / "atoms.npz", kernel_atoms())
    assert caught.value.filename == str(tmp_path / "none")
