'use strict'

function condition ({ origin }) {
  return origin === null
}

function payload ({ state }) {
  return { id: state.id, account: state.account, amount: state.amount }
}

exports.condition = condition
exports.payload = payload
