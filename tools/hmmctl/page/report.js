// SPDX-License-Identifier: MIT
// Draws the report from the JSON in the element `data`. Names may be any text, so we only insert
// them as text nodes, never as HTML.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const style = getComputedStyle(document.documentElement);
const colour = (name) => style.getPropertyValue('--' + name).trim();

// --- text

function sizeText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (bytes >= 1024 && unit + 1 < units.length) {
    bytes /= 1024;
    unit++;
  }
  return `${Number.isInteger(bytes) ? bytes : bytes.toFixed(1)} ${units[unit]}`;
}

function timeText(nanoseconds) {
  if (nanoseconds < 1e3) return `${nanoseconds} ns`;
  if (nanoseconds < 1e6) return `${(nanoseconds / 1e3).toFixed(2)} us`;
  if (nanoseconds < 1e9) return `${(nanoseconds / 1e6).toFixed(2)} ms`;
  return `${(nanoseconds / 1e9).toFixed(2)} s`;
}

const shareText = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)}%` : '-');
const hex = (address) => '0x' + BigInt(address).toString(16);
const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);

// --- elements

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

function drawing(name, attributes, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/// A column whose name ends in `#` has numbers.
function tableOf(columns, rows) {
  const cells = (kind, row) =>
    row.map((text, i) => element(kind, { className: columns[i].endsWith('#') ? 'number' : '' }, String(text)));
  const titles = columns.map((name) => name.replace('#', ''));
  return element(
    'table',
    {},
    element('thead', {}, element('tr', {}, ...cells('th', titles))),
    element('tbody', {}, ...rows.map((row) => element('tr', {}, ...cells('td', row)))),
  );
}

function legendOf(entries) {
  const one = ([name, fill]) => {
    const mark = element('i');
    mark.style.background = fill;
    return element('span', {}, mark, name);
  };
  return element('p', { className: 'legend' }, ...entries.map(one));
}

const note = (text) => element('p', { className: 'note' }, text);
const contentOf = (id) => document.querySelector(`#${id} .content`);
const titleOf = (device) =>
  device.id === null ? 'No device' : `Device ${device.id}${device.name === null ? '' : `: ${device.name}`}`;

// --- summary

function deviceRows(device) {
  const moved = [
    ['Host To Device', device.host_to_device],
    ['Device To Host', device.device_to_host],
    ['Device To Device', device.device_to_device],
    ['Device To Host by eviction', device.evicted],
  ].map(([name, of]) => [of.count, sizeText(of.bytes / (of.count || 1)), sizeText(of.min_bytes),
    sizeText(of.max_bytes), sizeText(of.bytes), timeText(of.nanoseconds), name]);
  const timed = [
    ['Device fault batches', device.fault_batches],
    ['Device faults', device.device_faults],
    ['Failed device faults', device.failed_faults],
    ['Throttles', device.throttles],
  ].map(([name, of]) => [of.count, '-', '-', '-', '-', timeText(of.nanoseconds), name]);
  const sized = [
    ['Remote mappings', device.remote_maps],
    ['Duplicates', device.duplicates],
    ['Evictions', device.evictions],
    ['Refusals', device.refusals],
  ].map(([name, of]) => [of.count, '-', '-', '-', sizeText(of.bytes), '-', name]);
  const counted = [
    ['Replays', device.replays.count],
    ['Thrashing', device.thrashing_blocks],
    ['Thrash pins', device.thrash_pins],
  ].map(([name, count]) => [count, '-', '-', '-', '-', '-', name]);
  return [...moved, ...timed, ...counted, ...sized].filter((row) => row[0] !== 0);
}

function drawSummary() {
  const { profile } = data;
  const of = (name, member) => sum(profile.devices.map((device) => device[name][member]));
  const tiles = [
    ['device faults', of('device_faults', 'count')],
    ['in device faults', timeText(of('device_faults', 'nanoseconds'))],
    ['CPU faults', profile.cpu_faults.count],
    ['to devices', sizeText(of('host_to_device', 'bytes'))],
    ['from devices', sizeText(of('device_to_host', 'bytes'))],
    ['evicted', sizeText(of('evicted', 'bytes'))],
  ].map(([name, value]) => element('div', { className: 'tile' }, element('b', {}, String(value)), name));
  const content = contentOf('summary');
  content.append(element('div', { className: 'tiles' }, ...tiles));
  for (const device of profile.devices) {
    const rows = deviceRows(device);
    if (rows.length === 0) continue;
    content.append(
      element('h3', {}, titleOf(device)),
      tableOf(['Count#', 'Avg Size#', 'Min Size#', 'Max Size#', 'Total Size#', 'Total Time#', 'Name'], rows),
    );
  }
  const start = data.start_realtime_ms ? `${new Date(data.start_realtime_ms).toISOString()}. ` : '';
  document.getElementById('facts').append(
    `${start}${profile.events} events${profile.dropped_events ? `, ${profile.dropped_events} more were lost ` +
      'because the ring was full, so all numbers are too low' : ''}.`);
}

// --- suggestions

function drawSuggestions() {
  const content = contentOf('suggestions');
  const { suggestions } = data.profile;
  if (suggestions.length === 0) content.append(note('There are none.'));
  for (const one of suggestions) {
    const card = element('div', { className: 'advice' },
      element('p', {}, `Process ${one.pid}: ${one.sentence}`), element('pre', {}, one.call));
    card.dataset.kind = one.kind;
    if (one.other_call !== null) card.append(element('p', {}, 'or'), element('pre', {}, one.other_call));
    if (one.memory || one.allocated_at) {
      const place = one.memory && one.allocated_at ? `${one.memory} (${one.allocated_at})` : one.memory || one.allocated_at;
      card.append(element('p', { className: 'note' }, `Most faults are on ${place}`));
    }
    for (const [kind, place, name] of [['device', one.place, one.function], ['CPU', one.cpu_place, one.cpu_function]]) {
      if (!place) continue;
      const at = name ? `${place} (${name})` : place;
      card.append(element('p', { className: 'note' }, `Most ${kind} faults are at ${at}`));
    }
    content.append(card);
  }
}

// --- timeline

const chart = { width: 1000, height: 90, top: 14 };

/// Draws stacked series; those in `lower` are below the axis.
function chartOf(title, buckets, upper, lower, textOf) {
  const totals = (series) =>
    Array.from({ length: buckets }, (_, i) => sum(series.map((one) => one.values[i])));
  const highest = Math.max(...totals(upper), 0);
  const lowest = Math.max(...totals(lower), 0);
  const scale = (chart.height - chart.top) / (highest + lowest || 1);
  const axis = chart.top + highest * scale;
  const step = chart.width / buckets;
  const svg = drawing('svg', { viewBox: `0 0 ${chart.width} ${chart.height + 4}`, role: 'img', 'aria-label': title });
  const bars = (series, direction) => {
    for (let i = 0; i < buckets; i++) {
      let from = axis;
      for (const { values, fill, name } of series) {
        const height = values[i] * scale;
        if (height === 0) continue;
        const y = direction > 0 ? from - height : from;
        svg.append(drawing('rect', { x: i * step, y, width: Math.max(step, 1), height: Math.max(height, 1), fill },
          drawing('title', {}, `${name}: ${textOf(values[i])}, ${spanText(i)}`)));
        from -= direction * height;
      }
    }
  };
  bars(upper, 1);
  bars(lower, -1);
  svg.append(
    drawing('line', { x1: 0, x2: chart.width, y1: axis, y2: axis, stroke: colour('line') }),
    drawing('text', { x: 0, y: 10 }, `${title}, at most ${textOf(Math.max(highest, lowest))}`),
  );
  return svg;
}

function spanText(bucket) {
  const width = data.timeline.bucket_nanoseconds;
  return `${timeText(bucket * width)} to ${timeText((bucket + 1) * width)}`;
}

const phaseColours = ['#9aa5b1', '#c9a227', '#5f8a3a', '#b8324a', '#1f6fb5', '#8a2d9c', '#4b5563'];

function drawDeviceTimeline(content, device) {
  const { buckets, phases } = data.timeline;
  const kept = device.bytes_out.map((bytes, i) => bytes - device.bytes_evicted[i]);
  content.append(element('h3', {}, titleOf(device)));
  content.append(
    chartOf('Faults', buckets,
      [{ name: 'device faults', values: device.device_faults, fill: colour('device-fault') }],
      [{ name: 'CPU faults', values: device.cpu_faults, fill: colour('cpu-fault') }], String),
    chartOf('Moved', buckets,
      [{ name: 'to the device', values: device.bytes_in, fill: colour('moved') }],
      [{ name: 'from the device', values: kept, fill: colour('cpu-fault') },
        { name: 'evicted', values: device.bytes_evicted, fill: colour('evicted') }], sizeText),
    chartOf('Time of device faults by phase', buckets,
      phases.map((name, i) => ({
        name, values: device.phases.map((of) => of[i]), fill: phaseColours[i % phaseColours.length],
      })), [], timeText));
}

function drawTimeline() {
  const content = contentOf('timeline');
  const { devices, buckets, phases } = data.timeline;
  if (devices.length === 0) {
    content.append(note('There were no faults and no migrations.'));
    return;
  }
  content.append(
    note(`${timeText(buckets * data.timeline.bucket_nanoseconds)} from left to right.`),
    legendOf([['device faults', colour('device-fault')], ['CPU faults, moved from the device', colour('cpu-fault')],
      ['moved to the device', colour('moved')], ['evicted', colour('evicted')]]),
    legendOf(phases.map((name, i) => [`phase ${name}`, phaseColours[i % phaseColours.length]])));
  for (const device of devices) drawDeviceTimeline(content, device);
}

// --- blocks over time

const heat = { label: 130, row: 12, width: 960 };
const measures = {
  activity: 'what happened',
  device: 'device faults',
  cpu: 'CPU faults',
  moved: 'migrations',
  resident: 'pages on devices',
};

/// Returns a cell's colour and amount for a measure.
function cellOf([, deviceFaults, cpuFaults, pagesIn, pagesOut, resident], measure) {
  if (measure === 'device') return ['device-fault', deviceFaults];
  if (measure === 'cpu') return ['cpu-fault', cpuFaults];
  if (measure === 'moved') return ['moved', pagesIn + pagesOut];
  if (measure === 'resident') return ['both', resident];
  if (deviceFaults && cpuFaults) return ['both', deviceFaults + cpuFaults];
  if (deviceFaults) return ['device-fault', deviceFaults];
  if (cpuFaults) return ['cpu-fault', cpuFaults];
  return ['moved', pagesIn + pagesOut];
}

function drawRow(context, row, y, step, measure) {
  const { buckets } = data.timeline;
  row.cells.forEach((cell, i) => {
    const [bucket, , , , , resident] = cell;
    const next = i + 1 < row.cells.length ? row.cells[i + 1][0] : buckets;
    const fill = (first, behind, name, strength) => {
      context.globalAlpha = strength;
      context.fillStyle = colour(name);
      context.fillRect(heat.label + first * step, y, Math.max((behind - first) * step, 1), heat.row - 2);
    };
    const share = resident / data.heat.block_pages;
    if (measure === 'resident') {
      fill(bucket, next, 'both', share);
      return;
    }
    if (resident) fill(bucket, next, 'resident', 0.3 + 0.7 * share);
    const [name, amount] = cellOf(cell, measure);
    if (amount) fill(bucket, bucket + 1, name, Math.min(1, 0.4 + 0.1 * Math.log2(1 + amount)));
  });
  context.globalAlpha = 1;
}

function drawGroup(canvas, group, measure) {
  const context = canvas.getContext('2d');
  context.fillStyle = '#fff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.font = '10px ui-monospace, monospace';
  group.rows.forEach((row, i) => {
    context.fillStyle = colour('faint');
    context.fillText(row.addr, 0, i * heat.row + 9);
    drawRow(context, row, i * heat.row, heat.width / data.timeline.buckets, measure);
  });
}

/// Shows the values of the cell under the pointer.
function detailText(group, x, y) {
  const row = group.rows[Math.floor(y / heat.row)];
  const bucket = Math.floor(((x - heat.label) * data.timeline.buckets) / heat.width);
  if (!row || bucket < 0 || bucket >= data.timeline.buckets) return '';
  const before = row.cells.filter((cell) => cell[0] <= bucket).pop();
  const resident = before ? before[5] : 0;
  const [, deviceFaults, cpuFaults, pagesIn, pagesOut] = before && before[0] === bucket ? before : [0, 0, 0, 0, 0];
  return `${row.addr}, ${spanText(bucket)}: ${deviceFaults} device faults, ${cpuFaults} CPU faults, ` +
    `${pagesIn} pages to devices, ${pagesOut} from devices, ${resident} on devices`;
}

function canvasOf(group, detail) {
  const canvas = element('canvas', { width: heat.label + heat.width, height: group.rows.length * heat.row });
  canvas.addEventListener('mousemove', (event) => {
    detail.textContent = detailText(group, event.offsetX, event.offsetY);
  });
  return canvas;
}

function groupTitle(group) {
  const what = group.path || `memory at ${group.rows[0].addr}`;
  return `Process ${group.pid}${group.process ? ` (${group.process})` : ''}: ${what}`;
}

function drawHeat() {
  const content = contentOf('heat');
  const { groups, left_out: leftOut } = data.heat;
  if (groups.length === 0) {
    content.append(note('There were no faults and no migrations.'));
    return;
  }
  const detail = element('p', { id: 'heat-detail', className: 'note' }, 'Point at a cell for its numbers.');
  const canvases = groups.map((group) => canvasOf(group, detail));
  const show = (measure) => groups.forEach((group, i) => drawGroup(canvases[i], group, measure));
  const choices = Object.entries(measures).map(([measure, name]) => element('label', {},
    element('input', { type: 'radio', name: 'measure', value: measure, checked: measure === 'activity',
      onchange: () => show(measure) }), ` ${name}`));
  content.append(
    element('p', {}, ...choices),
    legendOf([['device faults', colour('device-fault')], ['CPU faults', colour('cpu-fault')],
      ['both', colour('both')], ['migrations only', colour('moved')], ['pages on devices', colour('resident')]]),
    detail);
  groups.forEach((group, i) => content.append(
    element('h3', {}, groupTitle(group)), element('div', { className: 'scroll' }, canvases[i])));
  if (leftOut) content.append(note(`${leftOut} blocks with less activity are not shown.`));
  show('activity');
}

// --- tables

const allFaults = () => data.profile.cpu_faults.count +
  sum(data.profile.devices.map((device) => device.device_faults.count + device.failed_faults.count));

function drawBlocks() {
  const { profile } = data;
  const all = allFaults();
  contentOf('blocks').append(tableOf(
    ['Share#', 'Device faults#', 'CPU faults#', 'Time#', 'PID#', 'Address#'],
    profile.blocks.map((of) => [shareText(of.device_faults + of.cpu_faults, all), of.device_faults, of.cpu_faults,
      timeText(of.nanoseconds), of.pid, hex(of.addr)])));
}

function codeTable(code, all) {
  return tableOf(['Share#', 'Faults#', 'Time#', 'Function', 'Place'], code.map((of) => {
    const faults = of.device_faults + of.cpu_faults;
    return [shareText(faults, all), faults, timeText(of.nanoseconds), of.function || '?', of.place];
  }));
}

function drawCode() {
  const { code, cpu_code: cpuCode, cpu_faults: cpuFaults } = data.profile;
  contentOf('code').append(codeTable(code, allFaults() - cpuFaults.count));
  if (cpuCode.length !== 0) {
    contentOf('code').append(element('h3', {}, 'Code with the most CPU faults'), codeTable(cpuCode, cpuFaults.count));
  }
}

function drawAllocations() {
  const { allocations } = data.profile;
  if (allocations.length === 0) {
    contentOf('allocations').append(note('None were recorded. Record them with --allocations.'));
    return;
  }
  const all = allFaults();
  const nameOf = (call) => (call ? `${call.place}${call.function ? ` (${call.function})` : ''}` : '-');
  contentOf('allocations').append(tableOf(
    ['Share#', 'Device faults#', 'CPU faults#', 'Count#', 'Total Size#', 'PID#', 'Place', 'Called from'],
    allocations.map((of) => [shareText(of.device_faults + of.cpu_faults, all), of.device_faults, of.cpu_faults,
      of.count, sizeText(of.bytes), of.pid, nameOf(of.calls[0]), nameOf(of.calls[1])])));
}

for (const draw of [drawSummary, drawSuggestions, drawTimeline, drawHeat, drawBlocks, drawCode, drawAllocations]) draw();
document.documentElement.dataset.drawn = 'yes';
