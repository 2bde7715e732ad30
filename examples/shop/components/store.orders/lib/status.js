'use strict'

const NEXT = {
  pending: ['paid', 'cancelled'],
  paid: ['shipped', 'cancelled'],
  shipped: [],
  cancelled: []
}

/** Tells whether an order may go from one status to another. */
const may = (from, to) => NEXT[from].includes(to)

exports.may = may
