'use strict'

const { number } = require('../lib/number.js')
const { split } = require('../lib/vat.js')

async function transition (input, entry, context) {
  const country = input.country ?? 'DE'

  entry.number = number(input.order, context.now())
  entry.order = input.order
  entry.gross = input.gross
  entry.country = country

  Object.assign(entry, split(input.gross, country))

  return { number: entry.number }
}

exports.transition = transition
