"""Bugs of an MLP log that several GPUs write, a range each; with one GPU only that of recovery is a bug."""

from dataclasses import replace

from engine.persistence.media import LINE, line_ranges
from engine.persistence.records import RecordKind, read_record
from engine.persistence.replay import replay_events
from tests.seeded_bugs import bug


@bug("protocol.fence_gpus", on="undo-gpus", evidence="I1")
def the_flag_is_set_before_the_fence_of_the_last_gpu(gpus):
    for gpu in gpus[:-1]:
        gpu.fence()


@bug("protocol.fence_gpus", on="redo-relaxed-near-gpus", evidence="I1")
def the_fence_of_the_host_is_taken_for_those_of_the_gpus(gpus):
    return None


@bug("records.line_ranges", on="redo-gpus", evidence="I1")
def the_last_gpu_skips_its_range(address, nbytes, writers):
    *parts, last = line_ranges(address, nbytes, writers)
    return [*parts, last if writers == 1 else slice(last.start, last.start)]


@bug("records.line_ranges", on="undo-near-gpus", evidence="I1")
def ranges_of_gpus_leave_out_a_line_between_them(address, nbytes, writers):
    return [slice(part.start + LINE * (part.start > 0), part.stop) for part in line_ranges(address, nbytes, writers)]


@bug("records.read_record", on="undo-gpus", evidence="I4")
def recovery_takes_the_range_of_the_first_gpu_alone(media, slot):
    record = read_record(media, slot)
    if record is None or record.kind != RecordKind.MLP:
        return record
    first_range = line_ranges(slot.payload, len(record.payload), 2)[0]
    return replace(record, payload=record.payload[first_range].ljust(len(record.payload), b"\0"))


@bug("crash_media.CrashMedia.port", on="undo-media", evidence="I10")
def gpus_share_the_queues_and_the_fence_of_the_host(media, gpu):
    return media


@bug("engine.crashcheck.probes.writer.replay_events", on="undo-adagrad-gpus-writer", evidence="I10")
def a_cut_log_of_several_gpus_keeps_the_first_lines_of_the_whole(*arguments):
    *others, _ = arguments
    return replay_events(*others, 1)
