"""The catalogue of persistent media: one module of each, with what sources that contradict each other say of it."""

from dataclasses import dataclass, replace

from engine.constants import Confidence, Constant, Said

FAST20 = "Yang et al., FAST'20 (OptaneStudy data)"
TCXL = "Kwon et al., IEEE Micro 43(2), 2023"
FIT = "fitted to TrainingCXL RM1 and RM4 by scripts/calibrate_trainingcxl.py"


@dataclass(frozen=True)
class Media:
    """One module of a media type; rates in GB/s, each direction apart.

    Energy and wear count whole lines of the media, time whole accesses of the size that the rates were measured at.
    """

    module: Constant
    line: Constant
    access: Constant
    read: Constant
    update: Constant
    log: Constant
    stream: Constant
    latency: Constant
    persist: Constant
    raw: Constant
    idle: Constant
    read_energy: Constant
    write_energy: Constant
    price: Constant
    writers: Constant = Constant("writers without loss", 4, "writers", 4, 8, "unsourced", "as Optane")
    crowded: Constant = Constant("write share of 12 writers", 1, "of the rate", 1, 1, "unsourced", "no such loss is known")


def _optane(gain: float, source: str) -> Media:
    """Measured Optane: random lines, update and log are read plus write under the 1:1 mix penalty of one half."""
    read, write = 6.6 * gain, 2.28 * gain
    mixed = 0.5 / (1 / read + 1 / write)
    return Media(
        module=Constant("module capacity", 128, "GB", 128, 512, "vendor", "Intel: 128, 256 or 512 GB modules"),
        line=Constant("media line", 256, "B", 256, 256, "measured", FAST20),
        access=Constant("timed access", 256, "B", 256, 256, "measured", FAST20, "what the rates are counted in"),
        read=Constant("read rate", read, "GB/s", 4.5 * gain, 8.5 * gain, "measured", source, "per module at its 15 W budget"),
        update=Constant("in-place update rate", mixed, "GB/s", 0.7 * mixed, 1.4 * mixed, "derived", source, "read, write, mix"),
        log=Constant("row log rate", mixed, "GB/s", 0.7 * mixed, 1.4 * mixed, "derived", source, "read, append, mix"),
        stream=Constant("sequential write rate", write, "GB/s", 1.63 * gain, 2.88 * gain, "measured", source),
        latency=Constant("random read latency", 305, "ns", 277, 407, "measured", FAST20),
        persist=Constant("64 B persist", 90, "ns", 82, 125, "measured", FAST20, "non-temporal store to the persistence domain"),
        raw=Constant("read-after-write stall", 300, "ns", 0, 1000, "unsourced", "no published constant"),
        idle=Constant("module idle power", 5.2, "W", 4, 6.5, "derived", FAST20),
        read_energy=Constant("read energy", 1.45, "nJ/B", 1.2, 2, "derived", FAST20, "media traffic"),
        write_energy=Constant("write energy", 4.73, "nJ/B", 4, 5.5, "derived", FAST20, "media traffic"),
        price=Constant("price", 6, "USD/GB", 4.5, 15.6, "secondary", "street prices, 2019"),
        writers=Constant("writers without loss", 4, "writers", 4, 8, "measured", FAST20, "one module; six keep up to 8 threads"),
        crowded=Constant(
            "write share of 12 writers", 0.56, "of the rate", 0.55, 0.6, "derived", FAST20, "0.55 of 0.98 reaches the media once"
        ),
    )


def _battery_dram() -> Media:
    return Media(
        module=Constant("module capacity", 32, "GB", 8, 32, "vendor", "Micron NVDIMM-N 32 GB"),
        line=Constant("media line", 64, "B", 64, 64, "vendor", "JEDEC DDR4 burst"),
        access=Constant("timed access", 64, "B", 64, 64, "vendor", "JEDEC DDR4 burst"),
        read=Constant("read rate", 20.5, "GB/s", 16.6, 23, "derived", "DDR4-3200 channel at 80 %"),
        update=Constant("in-place update rate", 10.2, "GB/s", 8.3, 11.5, "derived", "read plus write on one channel"),
        log=Constant("row log rate", 10.2, "GB/s", 8.3, 11.5, "derived", "read plus write on one channel"),
        stream=Constant("sequential write rate", 20.5, "GB/s", 16.6, 23, "derived", "DDR4-3200 channel at 80 %"),
        latency=Constant("random read latency", 102, "ns", 81, 140, "measured", FAST20),
        persist=Constant("64 B persist", 60, "ns", 50, 116, "measured", FAST20, "as clwb to DRAM"),
        raw=Constant("read-after-write stall", 0, "ns", 0, 100, "unsourced", "DRAM has no such stall"),
        idle=Constant("module idle power", 5, "W", 3, 8, "secondary", "codecarbon, W per DIMM"),
        read_energy=Constant("read energy", 0.16, "nJ/B", 0.11, 0.31, "derived", "DRAMsim3, random 64 B with I/O"),
        write_energy=Constant("write energy", 0.16, "nJ/B", 0.11, 0.31, "derived", "DRAMsim3, random 64 B with I/O"),
        price=Constant("price", 20, "USD/GB", 11, 40, "unsourced", "DRAM, flash and battery"),
    )


def _cxl_flash() -> Media:
    djfs = "DJFS, FAST'25 (Samsung CMM-H prototype)"
    return Media(
        module=Constant("module capacity", 1000, "GB", 500, 2000, "unsourced", "one card"),
        line=Constant("media line", 64, "B", 64, 64, "measured", djfs, "cache hits; a miss reads a 4 KiB block"),
        access=Constant("timed access", 64, "B", 64, 64, "measured", djfs),
        read=Constant("read rate", 2, "GB/s", 1, 4, "measured", djfs),
        update=Constant("in-place update rate", 1, "GB/s", 0.5, 2, "derived", djfs, "read plus write"),
        log=Constant("row log rate", 1, "GB/s", 0.5, 2, "derived", djfs, "read plus write"),
        stream=Constant("sequential write rate", 2, "GB/s", 1, 4, "measured", djfs),
        latency=Constant("random read latency", 600, "ns", 600, 10000, "measured", djfs),
        persist=Constant("64 B persist", 600, "ns", 600, 10000, "measured", djfs),
        raw=Constant("read-after-write stall", 0, "ns", 0, 1000, "unsourced", "none known"),
        idle=Constant("module idle power", 4.6, "W", 4.6, 10, "measured", "SANDMAN, SOSP'25, Gen5 SSD"),
        read_energy=Constant("read energy", 2, "nJ/B", 1, 4, "derived", "SANDMAN: (18.5-4.6) W at 6.8 GB/s"),
        write_energy=Constant("write energy", 4, "nJ/B", 2, 8, "unsourced", "twice the read"),
        price=Constant("price", 1, "USD/GB", 0.5, 2.5, "unsourced", "between NAND and Optane SSD"),
    )


def _trainingcxl() -> Media:
    """The paper's emulated PMEM: effective rates of rows, unstated in the paper, so fitted and labelled."""
    return Media(
        module=Constant("module capacity", 16, "GB", 16, 16, "unsourced", "assumed: 64 GB of emulated PMEM, 4 controllers"),
        line=Constant("media line", 64, "B", 64, 256, "unsourced", "assumed: emulated on DRAM"),
        access=Constant("timed access", 64, "B", 64, 256, "unsourced", "assumed: emulated on DRAM"),
        read=Constant("read rate", 11.3, "GB/s", 5, 20, "calibrated", FIT),
        update=Constant("in-place update rate", 1.476, "GB/s", 1, 2, "calibrated", FIT),
        log=Constant("row log rate", 7.456, "GB/s", 5, 9, "calibrated", FIT),
        stream=Constant(
            "sequential write rate", 200, "GB/s", 70, 1000, "calibrated", FIT, "never the limit: several controllers"
        ),
        latency=Constant("random read latency", 243, "ns", 243, 306, "stated", TCXL, "3 x DRAM's 81 ns"),
        persist=Constant("64 B persist", 567, "ns", 100, 714, "stated", TCXL, "7 x DRAM's 81 ns"),
        raw=Constant("read-after-write stall", 279, "ns", 0, 1000, "calibrated", FIT),
        idle=Constant("module idle power", 5, "W", 3, 8, "unsourced", "a DIMM's worth"),
        read_energy=Constant("read energy", 0.16, "nJ/B", 0.11, 2, "derived", "DRAMsim3: the emulated media is DRAM"),
        write_energy=Constant("write energy", 0.16, "nJ/B", 0.11, 5.5, "derived", "DRAMsim3: the emulated media is DRAM"),
        price=Constant("price", 6, "USD/GB", 4.5, 15.6, "unsourced", "as Optane"),
    )


Range = tuple[float, float, float]


def _rates(access: float, read: Range, write: Range, confidence: Confidence, source: str) -> dict[str, Said]:
    """What a source says of bandwidth: an update or a row log reads, then writes, at half the rate of each."""
    mixed = 0.5 / (1 / read[0] + 1 / write[0])
    return {
        "access": (access, access, access, confidence, source),
        "read": (*read, confidence, source),
        "stream": (*write, confidence, source),
        "update": (mixed, 0.7 * mixed, 1.4 * mixed, "derived", source),
        "log": (mixed, 0.7 * mixed, 1.4 * mixed, "derived", source),
    }


SIX = f"{FAST20}, six modules beside six DRAM channels of 105 and 77 GB/s"
BANDWIDTH = {
    "paper": _rates(64, (15.36, 9.2, 15.36), (2.56, 2.56, 4.35), "stated", f"{TCXL}: 0.6 and 0.1 of DRAM, one 25.6 GB/s channel"),
    "measured": _rates(256, (6.27, 5.5, 6.57), (2.1, 1.25, 2.32), "measured", f"{SIX}: 0.36 and 0.16"),
    "random": _rates(64, (1.6, 1.53, 1.67), (0.533, 0.53, 0.55), "measured", f"{SIX}: 0.09 and 0.04 at random 64 B"),
}
PERSIST: dict[str, Said] = {
    "media": (567, 567, 714, "stated", f"{TCXL}: 7 x DRAM's 81 ns, until the media has it"),
    "visible": (84.2, 82, 125, "derived", f"{FAST20}: 1.04 x DRAM's 81 ns, until the persistence domain has it"),
}


def _disputed(media: Media) -> Media:
    """Attach what other sources say of Optane, which the prototype emulates."""
    rates = {
        name: getattr(media, name).disputed("pmem_bandwidth_source", **{choice: said[name] for choice, said in BANDWIDTH.items()})
        for name in BANDWIDTH["paper"]
    }
    return replace(media, persist=media.persist.disputed("pmem_write_latency_source", **PERSIST), **rates)


MEDIA = {
    "optane-100": _disputed(_optane(1.0, FAST20)),
    "optane-200": _disputed(_optane(1.15, FAST20 + "; +15 % for the 200 series (Tom's Hardware, 2020)")),
    "battery-dram": _battery_dram(),
    "cxl-flash": _cxl_flash(),
    "trainingcxl": _disputed(_trainingcxl()),
}
