'use strict'

async function transition (input, entry) {
  // what is given back twice must not grow
  const quantity = Math.min(input.quantity, entry.reserved)

  entry.reserved -= quantity
  entry.available += quantity
}

exports.transition = transition
