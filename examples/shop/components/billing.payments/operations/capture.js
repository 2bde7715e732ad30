'use strict'

async function transition (input, entry) {
  if (entry.status !== 'open')
    return new Error('CLOSED')

  const captured = entry.captured + input.amount

  if (captured > entry.amount)
    return new Error('TOO_MUCH')

  entry.captured = captured

  if (captured === entry.amount)
    entry.status = 'captured'

  return { open: entry.amount - captured }
}

exports.transition = transition
