'use strict'

const rates = require('../lib/rates.js')

async function computation (input) {
  return rates.rate(input.grams, input.zone) ?? new Error('TOO_HEAVY')
}

exports.computation = computation
