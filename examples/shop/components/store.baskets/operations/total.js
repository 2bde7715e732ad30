'use strict'

const lines = require('../lib/lines.js')

async function observation (input, entry) {
  return lines.total(entry.lines)
}

exports.observation = observation
