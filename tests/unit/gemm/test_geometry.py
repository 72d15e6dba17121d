"""`Geometry`: one value for `simulate`'s parameters, wherever they are said."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields
from inspect import signature

import numpy as np
import pytest

from layouts import Layout, Swizzle
from simulator import LayoutError, OptionError, optimize, simulate, sweep
from simulator.cli.commands import cli
from simulator.cli.options import lane_order, layout, pad, swizzle
from simulator.gemm.geometry import CHOICES, PARAMETERS, Geometry, check_value
from simulator.gemm.loads import Loads, count_loads, totals


def test_simulate_takes_its_parameters_and_has_its_defaults() -> None:
    assert tuple(signature(simulate).parameters) == PARAMETERS
    defaults = {name: each.default for name, each in signature(simulate).parameters.items()}
    assert Geometry.of(**defaults) == Geometry() == simulate().geometry
    for each in fields(Geometry):  # a default is in the form that a report shows
        assert getattr(Geometry(), each.name) == each.default


def test_the_command_takes_its_parameters_and_has_its_defaults() -> None:
    command = cli.commands["simulate"]
    options = command.make_context("simulate", []).params
    assert set(PARAMETERS) <= set(options)
    readers = {"lane_order": lane_order, "pad": pad, "swizzle": swizzle, "layout": layout}
    given = {name: readers.get(name, lambda as_is: as_is)(options[name]) for name in PARAMETERS}
    assert Geometry.of(**given) == Geometry()


def test_parameters_have_one_form() -> None:
    given = Geometry.of(
        warp_shape=np.array([8, 4]),
        lds=np.int64(64),
        thread_tile=(8, 8),
        block_tile="128 x 64X8",
        lane_order="(4,8):(8,1)",
        pad=np.array([0, 4]),
        swizzle=((3, 3, 3), None),
        element=np.uint8(2),
    )
    assert given == Geometry(
        warp_shape="8x4",
        lds=64,
        block_tile="128x64x8",
        lane_order="(4,8):(8,1)",
        pad=(0, 4),
        swizzle=(Swizzle(3, 3, 3), None),
        element=2,
    )
    assert type(given.lds) is type(given.element) is int
    assert Geometry.of(lane_order=Layout.parse("(4,8):(8,1)")) == Geometry.of(
        lane_order=[lane % 4 * 8 + lane // 4 for lane in range(32)]
    )
    assert len({given, Geometry(), Geometry.of(pad=0)}) == 2  # hashable, equal by value


def test_every_value_of_a_list_of_choices_is_accepted() -> None:
    for name, values in CHOICES.items():
        for value in values:
            check_value(name, value)
            Geometry.of(**{name: value})


def test_values_are_refused_alone_or_together() -> None:
    with pytest.raises(OptionError, match="lds 96 is not a load width"):
        Geometry(lds=96)
    with pytest.raises(TypeError, match="warp_shap"):
        Geometry.of(warp_shap="4x8")
    odd = Geometry.of(pad=1)  # each value alone is fine
    with pytest.raises(LayoutError, match=r"LDS\.128 of A would be misaligned"):
        Loads.of(odd)


def test_a_report_holds_its_geometry_and_speaks_for_it() -> None:
    report = simulate("8x4", 64, pad=(0, 4), rule="documented")
    assert report.geometry == Geometry.of(warp_shape="8x4", lds=64, pad=(0, 4), rule="documented")
    for name in PARAMETERS:
        assert getattr(report, name) == getattr(report.geometry, name)
    assert report.title == report.geometry.title
    with pytest.raises(AttributeError, match="'FragmentReport' object has no attribute 'padd'"):
        _ = report.padd
    with pytest.raises(FrozenInstanceError):
        report.geometry.lds = 32  # type: ignore[misc]
    for again in (copy.deepcopy(report), pickle.loads(pickle.dumps(report))):  # noqa: S301
        assert again.geometry == report.geometry
        assert again.to_dict() == report.to_dict()


def test_a_sweep_and_simulate_count_by_the_same_function() -> None:
    geometries = [Geometry.of(lds=lds, rule=rule) for lds in (32, 128) for rule in CHOICES["rule"]]
    together = count_loads([Loads.of(each) for each in geometries])
    for geometry, step in zip(geometries, together, strict=True):
        report = simulate(lds=geometry.lds, rule=geometry.rule)
        assert totals(step.counts) == report.totals() == report.to_dict()["totals"]
        assert step.number == report.k_step
        assert step.most == report.wavefronts


def test_all_stands_for_the_same_values_in_a_search_and_in_a_sweep() -> None:
    fixed = {"warp_shape": "4x8", "lds": 32, "thread_tile": "4x4"}
    found = optimize(fragment=fixed, space={"element": "all"}, objective="wavefronts")
    swept = sweep(simulate, {**fixed, "element": CHOICES["element"]})
    assert found.cost == swept.best(by="wavefronts")[0]["wavefronts"]
