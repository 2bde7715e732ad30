'use strict'

const FORTNIGHT = 14 * 24 * 60 * 60 * 1000

async function transition (_, loan) {
  loan.due += FORTNIGHT
}

exports.transition = transition
