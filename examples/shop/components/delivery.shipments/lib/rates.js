'use strict'

const { readFileSync } = require('node:fs')
const { join } = require('node:path')

/** Rows by weight: up to how many grams, and cents by zone. */
const rows = parse(readFileSync(join(__dirname, 'rates.csv'), 'utf8'))

function parse (text) {
  const [header, ...lines] = text.trim().split('\n').map((line) => line.split(','))

  return lines.map((cells) => Object.fromEntries(header.map((name, i) => [name, Number(cells[i])])))
}

/** Returns cents, or undefined if no carrier takes so much. */
function rate (grams, zone) {
  return rows.find((row) => grams <= row.grams)?.[zone]
}

exports.rate = rate
