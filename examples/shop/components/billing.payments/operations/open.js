'use strict'

async function transition (input, entry) {
  entry.order = input.order
  entry.amount = input.amount
  entry.status = 'open'
}

exports.transition = transition
