'use strict'

const { discounted } = require('../lib/discount.js')
const { label } = require('../lib/money.js')

async function observation (input, entry) {
  if (!entry.active)
    return new Error('INACTIVE')

  const total = discounted(entry.price, input.quantity)

  return { total, label: label(total, entry.currency) }
}

exports.observation = observation
