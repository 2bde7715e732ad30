'use strict'

const lines = require('../lib/lines.js')

async function transition (input, entry) {
  const changed = lines.add(entry.lines, { ...input, quantity: input.quantity ?? 1 })

  if (changed === undefined)
    return new Error('TOO_MANY')

  entry.lines = changed

  return lines.total(changed)
}

exports.transition = transition
