'use strict'

async function transition (input, entry) {
  if (entry.available < input.quantity)
    return new Error('OUT_OF_STOCK')

  entry.available -= input.quantity
  entry.reserved += input.quantity

  return { sku: entry.sku, available: entry.available }
}

exports.transition = transition
