// SPDX-License-Identifier: MIT
// Lets the trace viewer import each trace of the page, and replaces the page by the results. Times
// are in nanoseconds from the start of the recording.
'use strict';

const nanoseconds = time => Math.round(time * 1e6);

const samplesOf = series =>
    series.samples.map(one => ({time: nanoseconds(one.timestamp), value: one.value}));

const linkOf = slice => ({
  name: slice.title, begin: nanoseconds(slice.start), end: nanoseconds(slice.end),
  bytes: slice.args.bytes
});

const sliceOf = slice => ({
  name: slice.title, begin: nanoseconds(slice.start), end: nanoseconds(slice.end),
  addr: slice.args.addr, inside: slice.parentSlice ? slice.parentSlice.title : ''
});

const endOfArrow = slice => ({
  name: slice.title, begin: nanoseconds(slice.start), pid: slice.parentContainer.parent.pid,
  tid: slice.parentContainer.tid
});

function threadOf(thread) {
  return {
    name: thread.name, tid: thread.tid, slices: thread.sliceGroup.slices.map(sliceOf),
    links: thread.asyncSliceGroup.slices.map(linkOf)
  };
}

function counterOf(counter) {
  return {
    name: counter.name,
    series: Object.fromEntries(counter.series.map(series => [series.name, samplesOf(series)]))
  };
}

function processOf(process) {
  return {
    name: process.name, pid: process.pid, threads: Object.values(process.threads).map(threadOf),
    counters: Object.values(process.counters).map(counterOf)
  };
}

function unfinishedIn(model) {
  const found = [];
  for (const thread of model.getAllThreads())
    for (const slice of thread.sliceGroup.slices)
      if (slice.didNotFinish) found.push(`${slice.title} has no end`);
  return found;
}

/// Finds neighbouring slices with the same parent where the first ends after the second begins.
function overlapsIn(model) {
  const found = [];
  for (const {sliceGroup} of model.getAllThreads())
    for (const siblings of [sliceGroup.topLevelSlices, ...sliceGroup.slices.map(s => s.subSlices)])
      siblings.slice(1).forEach((slice, i) => {
        if (nanoseconds(siblings[i].end) > nanoseconds(slice.start))
          found.push(`${siblings[i].title} overlaps ${slice.title}`);
      });
  return found;
}

function imported(text) {
  const model = new tr.Model();
  const options = new tr.importer.ImportOptions();
  options.shiftWorldToZero = false;
  options.showImportWarnings = false;
  try {
    new tr.importer.Import(model, options).importTraces([text]);
  } catch (error) {
    return {problems: [String(error)]};
  }
  const warnings = model.importWarnings.map(one => one.message);
  return {
    problems: [...warnings, ...unfinishedIn(model), ...overlapsIn(model)],
    begin: nanoseconds(model.bounds.min), end: nanoseconds(model.bounds.max),
    processes: Object.values(model.processes).map(processOf),
    arrows: model.flowEvents.map(
        one => ({from: endOfArrow(one.startSlice), to: endOfArrow(one.endSlice)}))
  };
}

{
  const traces = JSON.parse(document.getElementById('traces').textContent);
  const result = JSON.stringify(traces.map(imported));
  document.documentElement.innerHTML = '<pre></pre>';
  // nothing that HTML would escape
  document.querySelector('pre').textContent =
      result.replace(/[^ -~]|[<>&]/g, one => '\\u' + one.charCodeAt(0).toString(16).padStart(4, '0'));
}
