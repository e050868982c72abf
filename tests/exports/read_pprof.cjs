// read_pprof.cjs FILE: a pprof profile as JSON with its numbers and names in place, by the npm package pprof-format.
const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const { Profile } = require(path.join(process.env.READERS, 'node_modules', 'pprof-format'));

const profile = Profile.decode(zlib.gunzipSync(fs.readFileSync(process.argv[2])));
const text = (index) => profile.stringTable.strings[Number(index)];
const byId = (list) => new Map(list.map((item) => [Number(item.id), item]));
const functions = byId(profile.function);
const mappings = byId(profile.mapping);
const locations = byId(profile.location);

const location = (id) => {
	const at = locations.get(Number(id));
	const mapping = mappings.get(Number(at.mappingId));
	return {
		address: String(at.address),
		mapping: mapping && {
			start: String(mapping.memoryStart),
			limit: String(mapping.memoryLimit),
			offset: String(mapping.fileOffset),
			file: text(mapping.filename),
			buildId: text(mapping.buildId),
		},
		lines: at.line.map((line) => ({
			function: text(functions.get(Number(line.functionId)).name),
			file: text(functions.get(Number(line.functionId)).filename),
			line: Number(line.line),
		})),
	};
};

const json = {
	types: profile.sampleType.map((type) => [text(type.type), text(type.unit)]),
	defaultType: text(profile.defaultSampleType),
	period: [text(profile.periodType.type), text(profile.periodType.unit), String(profile.period)],
	time: String(profile.timeNanos),
	duration: String(profile.durationNanos),
	samples: profile.sample.map((sample) => ({
		values: sample.value.map(Number),
		labels: Object.fromEntries(sample.label.map((label) => [text(label.key), text(label.str) || Number(label.num)])),
		locations: sample.locationId.map(location), // leaf first
	})),
};
process.stdout.write(JSON.stringify(json));
