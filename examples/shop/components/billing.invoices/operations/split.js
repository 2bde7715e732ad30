'use strict'

const vat = require('../lib/vat.js')

async function computation (input) {
  return vat.split(input.gross, input.country) ?? new Error('UNKNOWN_COUNTRY')
}

exports.computation = computation
