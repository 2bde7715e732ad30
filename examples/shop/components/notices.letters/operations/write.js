'use strict'

const { letter } = require('../lib/letter.js')

async function computation (input) {
  return letter(input.kind, input.values) ?? new Error('MISSING_VALUE')
}

exports.computation = computation
