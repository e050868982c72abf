"""A Perfetto trace as its viewer would build it from the packets: slices of CPUs, states of threads, slices of tracks,
stacks. Strict where the viewer counts an error. load(FILE) needs schema.pb, the descriptors that protoc made."""
import collections

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

NEEDS_STATE, CLEARED = 2, 1


class Trace:
    def __init__(self):
        self.threads, self.processes = {}, {}
        self.running = []  # (cpu, tid, from, to)
        self.states = []  # (tid, state left in, from, woken by or None, woken at, to)
        self.frequency = collections.Counter()
        self.slices = []  # (track names from the root, name, from, to, annotations)
        self.instants = []  # (tid, name, time)
        self.counters = collections.defaultdict(list)
        self.flows = []  # (slice, slice)
        self.samples = []  # (source, tid, time, functions from the root, weight, frames)
        self.io_waits = 0


def check_known(message):
    """No field that the schema does not have."""
    from google.protobuf import unknown_fields
    if hasattr(unknown_fields, 'UnknownFieldSet'):
        assert not len(unknown_fields.UnknownFieldSet(message)), message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for one in value if field.label == field.LABEL_REPEATED else [value]:
                check_known(one)


def read_sched(trace, packets):
    events = [(e.timestamp, n, p.ftrace_events.cpu, e) for n, (p, e) in
              enumerate((p, e) for p in packets if p.HasField('ftrace_events') for e in p.ftrace_events.event)]
    on_cpu, left, woken = {}, {}, {}
    for time, _, cpu, e in sorted(events, key=lambda x: x[:2]):
        if e.HasField('sched_switch'):
            s = e.sched_switch
            prev, since = on_cpu.get(cpu, (0, time))
            assert s.prev_pid == prev == e.pid, ('another thread leaves the CPU than came', s, prev)
            assert s.prev_pid != s.next_pid
            if prev:
                trace.running.append((cpu, prev, since, time))
                left[prev] = (s.prev_state, time)
            assert s.next_pid not in [t for t, _ in on_cpu.values() if t], ('on two CPUs', s)
            on_cpu[cpu] = (s.next_pid, time)
            if s.next_pid in left:
                state, out = left.pop(s.next_pid)
                by, at = woken.pop(s.next_pid, (None, None))
                trace.states.append((s.next_pid, state, out, by, at, time))
        elif e.HasField('sched_waking'):
            woken[e.sched_waking.pid] = (None if e.common_flags else e.pid, time)
        elif e.HasField('sched_blocked_reason'):
            trace.io_waits += e.sched_blocked_reason.io_wait
        elif e.HasField('cpu_frequency'):
            assert e.cpu_frequency.cpu_id == cpu
            trace.frequency[cpu] += 1
    assert not any(tid for tid, _ in on_cpu.values()), 'somebody runs for ever'


def track_names(tracks, uuid):
    names = []
    while uuid:
        track = tracks[uuid]
        names.insert(0, track.name or track.thread.thread_name or track.process.process_name)
        uuid = track.parent_uuid
    return tuple(names)


def read_tracks(trace, packets):
    tracks, events = {}, []
    for n, p in enumerate(packets):
        if p.HasField('track_descriptor'):
            assert p.track_descriptor.uuid not in tracks
            tracks[p.track_descriptor.uuid] = p.track_descriptor
        elif p.HasField('track_event'):
            events.append((p.timestamp, n, p.track_event))
    opened, begun, ended = collections.defaultdict(list), {}, {}
    for time, _, e in sorted(events, key=lambda x: x[:2]):
        names, track = track_names(tracks, e.track_uuid), tracks[e.track_uuid]
        if e.type == e.TYPE_SLICE_BEGIN:
            opened[e.track_uuid].append((e, time))
        elif e.type == e.TYPE_SLICE_END:
            assert opened[e.track_uuid], ('an end without a begin', names)
            begin, since = opened[e.track_uuid].pop()
            notes = {a.name: a.string_value if a.HasField('string_value') else a.int_value for a in begin.debug_annotations}
            one = (names, begin.name, since, time, notes)
            trace.slices.append(one)
            for flow in begin.flow_ids:
                assert flow not in begun
                begun[flow] = one
            for flow in begin.terminating_flow_ids:
                assert flow not in ended
                ended[flow] = one
        elif e.type == e.TYPE_INSTANT:
            trace.instants.append((track.thread.tid, e.name, time))
        elif e.type == e.TYPE_COUNTER:
            assert track.HasField('counter')
            trace.counters[names[-1]].append((time, e.counter_value))
    assert not any(opened.values()), 'a begin without an end'
    assert begun.keys() == ended.keys()
    trace.flows = [(begun[f], ended[f]) for f in begun]


def read_stacks(trace, packets):
    interned, sources = {}, {}
    for p in packets:
        sequence = p.trusted_packet_sequence_id
        if p.sequence_flags & CLEARED:
            interned[sequence] = collections.defaultdict(dict)
        if p.HasField('trace_packet_defaults'):
            defaults = p.trace_packet_defaults.stack_sample_defaults
            assert defaults.primary_descriptor.unit == 1  # ns
            sources[sequence] = defaults.source
        for field, values in p.interned_data.ListFields():
            for value in values:
                assert value.iid and value.iid not in interned[sequence][field.name]
                interned[sequence][field.name][value.iid] = value
        if not p.HasField('stack_sample'):
            continue
        assert p.sequence_flags & NEEDS_STATE
        data, sample = interned[sequence], p.stack_sample
        frames = [data['frames'][f] for f in data['callstacks'][sample.callstack_iid].frame_ids]
        assert frames and all(f.mapping_id in data['mappings'] for f in frames)
        names = [data['function_names'][f.function_name_id].str.decode('utf-8') for f in frames]
        modules = [(b''.join(data['mapping_paths'][i].str for i in data['mappings'][f.mapping_id].path_string_ids),
                    data['build_ids'][data['mappings'][f.mapping_id].build_id].str if data['mappings'][f.mapping_id].build_id else b'')
                   for f in frames]
        trace.samples.append((sources[sequence], sample.task_context.tid, p.timestamp, names, sample.primary_weight,
                              list(zip(frames, modules))))


def trace_class(schema):
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(open(schema, 'rb').read()).file:
        pool.Add(file)
    descriptor = pool.FindMessageTypeByName('perfetto.protos.Trace')
    if hasattr(message_factory, 'GetMessageClass'):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


def load(path, schema='schema.pb'):
    file = trace_class(schema)()
    file.ParseFromString(open(path, 'rb').read())
    check_known(file)
    trace = Trace()
    for p in file.packet:
        for one in p.process_tree.processes:
            trace.processes[one.pid] = one.cmdline[0]
        for one in p.process_tree.threads:
            trace.threads[one.tid] = one.name
    read_sched(trace, file.packet)
    read_tracks(trace, file.packet)
    read_stacks(trace, file.packet)
    return trace
