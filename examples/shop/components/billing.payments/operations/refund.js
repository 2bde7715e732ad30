'use strict'

async function transition (input, entry) {
  if (entry.captured === 0)
    return new Error('NOTHING_CAPTURED')

  const refunded = entry.refunded + input.amount

  if (refunded > entry.captured)
    return new Error('TOO_MUCH')

  entry.refunded = refunded

  if (refunded === entry.captured)
    entry.status = 'refunded'
}

exports.transition = transition
