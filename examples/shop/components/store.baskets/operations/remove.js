'use strict'

async function transition (input, entry) {
  const rest = entry.lines.filter((line) => line.sku !== input.sku)

  if (rest.length === entry.lines.length)
    entry.DISCARD = true

  entry.lines = rest
}

exports.transition = transition
